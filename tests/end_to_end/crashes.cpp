#include "tests/end_to_end/crashes.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace thalweg::test {

const std::vector<std::string>& crash_points() {
  static const std::vector<std::string> points = {
      "before_intent:1",    "after_intent:1",  "before_submit:1",   "after_submit:1",
      "after_recorded:1",   "after_release:1", "after_released:1",  "after_running:1",
      "in_ingest:1",        "first_metrics:1", "end_record_seen:1", "in_ended:1",
      "after_ended:1",      "after_submit:2",  "after_intent:2",    "after_release:2",
      "in_ingest:3",        "before_submit:2", "after_running:2",   "after_trial_ended:1",
      "after_sweep_ended:1"};
  return points;
}

namespace {

/// True where the armed controller died at its point; false where the sweep ended first or time ran
/// out.
bool dies(SweepHome& home, const std::string& sweep, const std::string& point) {
  const Outcome started =
      home.thalweg({"daemon", "start"}, milliseconds(30000), {{"THALWEG_FAULT", point}});
  (void)started;  // it may die before it answers: that is the point
  const auto over = [&] {
    // Asked of the file system, not of the controller: a request would start a dead one again.
    return home.controller() == 0;
  };
  if (eventually(over, milliseconds(15000))) return true;
  const auto shown = home.json({"show", sweep});
  EXPECT_NE(shown["state"], "active") << "the sweep neither ended nor passed " << point;
  return false;
}

}  // namespace

void crash_through(SweepHome& home, const TinySweep& sweep, const std::string& backend,
                   const std::function<void(std::size_t death)>& between) {
  std::vector<std::string> sweeps;
  const auto submit = [&] {
    sweeps.push_back(home.submit(sweep.text(), backend));
    ASSERT_FALSE(sweeps.back().empty());
    home.thalweg({"daemon", "stop"}, milliseconds(20000));
  };
  submit();
  std::size_t deaths = 0;
  for (const std::string& point : crash_points()) {
    bool met = dies(home, sweeps.back(), point);
    if (!met) {
      home.thalweg({"daemon", "stop"}, milliseconds(20000));
      submit();
      met = dies(home, sweeps.back(), point);
    }
    EXPECT_TRUE(met) << "the controller never passed " << point;
    if (met) ++deaths;
    if (between) between(deaths);
  }
  EXPECT_GE(deaths, 20u);
  for (const std::string& id : sweeps) {
    ASSERT_TRUE(home.wait_for_end(id, milliseconds(120000))) << "sweep " << id;
    home.expect_nothing_lost_or_doubled(id);
  }
}

}  // namespace thalweg::test
