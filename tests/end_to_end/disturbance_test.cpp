// A sweep on a Slurm cluster while everything around it is killed, stopped and misled: every trial
// must end rightly, no attempt may run beside its successor, curves must be those of an undisturbed
// run (where a mode is asynchronous: complete), and nothing may stay behind.
//
// THALWEG_TEST_SEED asks for other draws, THALWEG_DISTURB_COUNT says how many disturbances,
// THALWEG_DISTURB_KIND keeps those kinds only whose name holds this text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "tests/end_to_end/attempt_watch.h"
#include "tests/end_to_end/disturbances.h"
#include "tests/end_to_end/sample_account.h"
#include "tests/end_to_end/shared_cluster.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 2;           ///< of a trial, each on a node
constexpr std::size_t kCount = 60;  ///< disturbances that really happened
constexpr std::size_t kModesCount = 15;
constexpr std::size_t kFewCount = 5;
constexpr double kFencedWithin_s = 10;  ///< an attempt may run beside its successor for so long

std::string setting(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : fallback;
}

class Disturbed : public OnSharedCluster {
 protected:
  Disturbed() : OnSharedCluster(6) {}

  /// Two nodes a trial, all nodes at work.
  TinySweep on_all_nodes() const {
    TinySweep sweep;
    sweep.nodes = kRanks;
    sweep.ranks_per_node = 1;
    sweep.steps = 1500;
    sweep.extra =
        "limits: {max_nodes_in_flight: " + std::to_string(nodes_) + ", max_retries: 1000}\n";
    return sweep;
  }

  void put_right() { ASSERT_TRUE(cluster().put_right()) << cluster().complaint(); }

  /// Disturbs sweeps of this text, one after the other, and looks how they ended.
  void run(const TinySweep& sweep, std::size_t count);
  void disturb(SweepHome& home, const std::string& text, std::size_t count, std::mt19937& random,
               std::vector<std::string>& sweeps);
  void expect_right_ends(SweepHome& home, const std::string& id, const std::string& reference);
  void expect_nothing_left(SweepHome& home);

  TempDir tmp_;  ///< TMPDIR: other tests have folders in /tmp
  std::map<std::string_view, int> happened_;
  int by_people_ = 0, cancelled_ = 0;
};

void Disturbed::disturb(SweepHome& home, const std::string& text, std::size_t count,
                        std::mt19937& random, std::vector<std::string>& sweeps) {
  Scene scene{cluster(), home, random};
  Deck deck(random, disturbances_named(setting("THALWEG_DISTURB_KIND", "")));
  ASSERT_FALSE(deck.empty()) << "THALWEG_DISTURB_KIND fits no kind";
  std::size_t done = 0, tries = 0;
  while (done < count) {
    ASSERT_LT(tries++, 10 * count) << "too little could be disturbed";
    if (sweeps.empty() || !home.is_active(sweeps.back())) {
      sweeps.push_back(home.submit(text, "slurm"));
      ASSERT_FALSE(sweeps.back().empty());
    }
    eventually([&] { return !home.engines().empty(); }, milliseconds(15000));
    sleep_for(milliseconds(std::uniform_int_distribution<int>(0, 2500)(random)));
    const Disturbance& kind = deck.draw();
    const bool did = kind.happen(scene);
    std::cout << (did ? "" : "(nothing to disturb) ") << kind.name << std::endl;
    put_right();
    if (HasFatalFailure()) return;
    if (!did) continue;
    ++done;
    ++happened_[kind.name];
    by_people_ += kind.by_person;
  }
}

void Disturbed::expect_right_ends(SweepHome& home, const std::string& id,
                                  const std::string& reference) {
  std::set<std::int64_t> not_compared;  // cancelled ones, and those whose curves depend on chance
  const auto shown = home.json({"show", id});
  const std::string prefix = id + ".";
  for (const auto& trial : shown["trials"]) {
    const auto number = std::stoll(trial["id"].get<std::string>().substr(prefix.size()));
    const std::string mode = trial["parameters"].value("sync.mode", "sync");
    if (trial["state"] == "cancelled") {
      ++cancelled_;
      not_compared.insert(number);
      continue;
    }
    EXPECT_EQ(trial["state"], "finished") << trial.dump(2);
    expect_samples_applied(home, id, number, {mode, on_all_nodes().steps, kRanks, mode == "lag"});
    if (mode == "async" || mode == "hybrid" || mode == "abs") not_compared.insert(number);
  }
  home.expect_record_is_the_journals(id);
  Curves wanted = home.curves(reference), found = home.curves(id);
  const auto left_out = [&](const auto& point) {
    return not_compared.count(std::get<0>(point.first)) > 0;
  };
  std::erase_if(wanted, left_out);
  std::erase_if(found, left_out);
  expect_same_curves(id, wanted, found);
}

void Disturbed::expect_nothing_left(SweepHome& home) {
  // What died with its whole node's ranks is removed by the next start there.
  TinySweep everywhere;
  everywhere.nodes = nodes_;
  everywhere.ranks_per_node = 1;
  // It takes all nodes; Slurm may drain one a minute after the last disturbance (a step that could
  // not be killed).
  put_right();
  if (HasFatalFailure()) return;
  const std::string id = home.submit(everywhere.text(), "slurm");
  const auto ended = [&] {
    cluster().resume_drained();
    return home.wait_for_end(id, milliseconds(5000));
  };
  ASSERT_TRUE(eventually(ended, milliseconds(120000)))
      << cluster().slurm({"sinfo", "-N", "-o", "%N %T %E"}).out << cluster().slurm({"squeue"}).out;
  EXPECT_TRUE(eventually([&] { return home.engines().empty(); })) << "engines still run";
  for (int node = 1; node <= nodes_; ++node) {
    const auto inside = [&](const std::string& command) {
      return cluster().command({"on-node", std::to_string(node), "sh", "-c", command}).out;
    };
    EXPECT_EQ(inside("ipcs -m | grep '^0x' || :"), "") << "System V memory on node " << node;
    EXPECT_EQ(inside("ls /dev/shm | grep -E 'thalweg|ucx' || :"), "")
        << "/dev/shm of node " << node;
  }
  std::string left;
  for (const auto& entry : fs::directory_iterator(tmp_.path()))
    if (const auto name = entry.path().filename().string(); name.starts_with("thalweg"))
      left += name + " ";
  EXPECT_EQ(left, "") << "temporary folders";
}

void Disturbed::run(const TinySweep& sweep, std::size_t count) {
  const auto seed = static_cast<unsigned>(std::stoul(setting("THALWEG_TEST_SEED", "2")));
  std::cout << "THALWEG_TEST_SEED=" << seed << std::endl;
  std::mt19937 random(seed);
  std::map<std::string, std::string> environment = cluster().env();
  environment["TMPDIR"] = tmp_.path();
  SweepHome home(environment);
  fs::create_directories(home.home());
  write_file(home.home() / "config.yaml",
             "retry_backoff: 0.5\nslurm: {poll_interval: 1, file_lag: 2, start_timeout: 60}\n");
  const std::string reference = home.submit(sweep.text(), "local");
  ASSERT_TRUE(home.wait_for_end(reference, milliseconds(240000)));
  home.expect_nothing_lost_or_doubled(reference);

  std::vector<std::string> sweeps;
  {
    AttemptWatch watch(home, cluster());
    disturb(home, sweep.text(), std::stoul(setting("THALWEG_DISTURB_COUNT", std::to_string(count))),
            random, sweeps);
    if (HasFatalFailure()) return;
    for (const std::string& id : sweeps)
      ASSERT_TRUE(home.wait_for_end(id, milliseconds(300000)))
          << "sweep " << id << " does not end:\n"
          << home.thalweg({"show", id}).out;
    for (const std::string& who : watch.overlaps(kFencedWithin_s))
      ADD_FAILURE() << "attempts ran side by side: " << who;
  }
  for (const auto& [name, times] : happened_)
    std::cout << times << " x " << name << std::endl;
  for (const std::string& id : sweeps)
    expect_right_ends(home, id, reference);
  EXPECT_LE(cancelled_, by_people_) << "nobody cancelled so many trials";
  expect_nothing_left(home);
}

/// A few kinds, drawn anew in every run of the first tier.
TEST_F(Disturbed, SomeTrialsEndRightly) {
  TinySweep sweep = on_all_nodes();
  sweep.seeds = 3;
  run(sweep, kFewCount);
}

// Second tier: every kind of disturbance at least once takes ten minutes.

TEST_F(Disturbed, EveryTrialEndsRightly) {
  TinySweep sweep = on_all_nodes();
  sweep.seeds = 6;
  run(sweep, kCount);
}

TEST_F(Disturbed, EverySyncModeEndsRightly) {
  TinySweep sweep = on_all_nodes();
  sweep.varied =
      "  optimizer.name: {values: [momentum, adamw]}\n"
      "  sync.mode: {values: [lag, local, abs, async, hybrid, adasum]}\n";
  run(sweep, kModesCount);
}

}  // namespace
}  // namespace thalweg::test
