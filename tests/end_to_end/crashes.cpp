#include "tests/end_to_end/crashes.h"

#include <gtest/gtest.h>

#include <chrono>

namespace thalweg::test {

const std::vector<std::string>& crash_points() {
  static const std::vector<std::string> points = {
      "before_intent:1",    "after_intent:1",  "before_submit:1",   "after_submit:1",
      "after_recorded:1",   "after_release:1", "after_released:1",  "after_running:1",
      "in_ingest:1",        "first_metrics:1", "end_record_seen:1", "in_ended:1",
      "after_ended:1",      "after_submit:2",  "after_intent:2",    "after_release:2",
      "in_ingest:3",        "before_submit:2", "after_ended:2",     "after_trial_ended:1",
      "after_sweep_ended:1"};
  return points;
}

void crash_through(SweepHome& home, const TinySweep& sweep, const std::string& backend,
                   const std::function<void(std::size_t death)>& between,
                   const std::function<void()>& meanwhile) {
  auto looked = std::chrono::steady_clock::now();
  const auto look = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (!meanwhile || now - looked < std::chrono::seconds(1)) return;
    meanwhile();
    looked = std::chrono::steady_clock::now();
  };
  const std::string id = home.submit(sweep.text(), backend);
  ASSERT_FALSE(id.empty());
  ASSERT_EQ(home.thalweg({"daemon", "stop"}).code, 0);
  std::size_t deaths = 0;
  for (const std::string& point : crash_points()) {
    // It may die before it has answered, so the outcome of the start says nothing.
    home.thalweg({"daemon", "start"}, milliseconds(30000), {{"THALWEG_FAULT", point}});
    // Not asked through the client, which would start a dead one again.
    const auto dead = [&] {
      look();
      return home.controller() == 0;
    };
    // Where slurmctld was killed, too, two attempts in a row may each have to be given up before
    // the next one runs: 15 s for their files and 30 s for their ranks to end themselves.
    ASSERT_TRUE(eventually(dead, milliseconds(150000))) << "the controller never passed " << point;
    ++deaths;
    if (between) between(deaths);
  }
  EXPECT_GE(deaths, 20u);
  ASSERT_TRUE(home.wait_for_end(id, milliseconds(120000)));
  home.expect_nothing_lost_or_doubled(id);
}

}  // namespace thalweg::test
