// Sweeps in one mode of synchronisation after the other on four nodes, whose ranks and nodes are
// killed, stopped and cut off every few seconds: training ends, with finite losses, never hangs,
// and the record's samples are those that were applied.
//
// THALWEG_CHAOS_SECONDS says for how long (20 by default), THALWEG_TEST_SEED asks for other draws,
// --gtest_filter='*/async' for a mode.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <random>
#include <sstream>

#include "tests/end_to_end/attempt_watch.h"
#include "tests/end_to_end/disturbances.h"
#include "tests/end_to_end/sample_account.h"
#include "tests/end_to_end/shared_cluster.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kTrialNodes = 2, kRanksPerNode = 2;  // messages within a node and between nodes
constexpr int kRanks = kTrialNodes * kRanksPerNode;
constexpr double kMaxSilence_s = 10, kTimeout_s = 8;
constexpr double kFencedWithin_s = 10;  ///< an attempt may run beside its successor for so long

struct Mode {
  const char* name;
  const char* sync;  ///< in the sweep file
  bool bitwise = false;
  int gradients = 1;  ///< TrialLength::gradients
};

// lag: with the last gradients applied, so that all samples are.
constexpr Mode kModes[] = {
    {"sync", "mode: sync", true},
    {"lag", "mode: lag, cooldown_steps: 1", true},
    {"local", "mode: local", true},
    {"abs", "mode: abs"},
    {"async", "mode: async", false, kRanks},
    {"hybrid", "mode: hybrid, groups: 2", false, 2},
    {"adasum", "mode: adasum", true},
    {"post_local", "mode: local, synchronous_steps: 300", true},
    {"sharded_optimizer", "mode: sync, shard_optimizer: true", true},
    {"servers", "mode: async, servers: 2", false, 2},
};

void PrintTo(const Mode& mode, std::ostream* out) {
  *out << mode.name;
}

/// What happens to ranks and nodes; rows of disturbances().
constexpr const char* kKinds[] = {
    "a rank is killed",    "a rank stands still", "all ranks of a node are killed",
    "a node stands still", "a node loses power",  "a node's link is cut"};

class Chaos : public OnSharedCluster, public testing::WithParamInterface<Mode> {
 protected:
  Chaos() : OnSharedCluster(4) {}

  /// Two trials at a time, of ten seconds where nothing disturbs them: ranks rest in every step, so
  /// that two cores are enough for eight of them.
  TinySweep sweep(double timeout_s = kTimeout_s * slowdown()) const {
    TinySweep sweep;
    sweep.nodes = kTrialNodes;
    sweep.ranks_per_node = kRanksPerNode;
    sweep.seeds = seconds_ != nullptr ? 3 : 1;
    sweep.steps = 600;
    // A stall, also of the start, is given up in less time than may count as a hang.
    const std::string timeout = std::to_string(timeout_s);
    sweep.train = std::string("  sync: {") + GetParam().sync + ", stall_timeout_s: " + timeout +
                  ", start_timeout_s: " + timeout +
                  "}\n  emulate: {pause_every: 1, pause_ms: 15}\n";
    sweep.extra =
        "limits: {max_nodes_in_flight: " + std::to_string(nodes_) + ", max_retries: 1000}\n";
    return sweep;
  }

  void disturb(SweepHome& home, std::vector<std::string>& sweeps);
  void look_at(SweepHome& home, const std::vector<std::string>& sweeps, const Curves& undisturbed);
  void report(SweepHome& home, const std::vector<std::string>& sweeps, AttemptWatch& watch);

  const char* seconds_ = std::getenv("THALWEG_CHAOS_SECONDS");
  std::map<std::string, double> timeouts_;  ///< in seconds, as they were set, by sweep
  std::map<std::string_view, int> happened_;
  std::int64_t trials_ = 0, samples_ = 0;
};

void Chaos::disturb(SweepHome& home, std::vector<std::string>& sweeps) {
  const char* const chosen = std::getenv("THALWEG_TEST_SEED");
  const auto seed = static_cast<unsigned>(chosen != nullptr ? std::stoul(chosen) : 1);
  std::cout << "THALWEG_TEST_SEED=" << seed << std::endl;
  std::mt19937 random(seed);
  Scene scene{cluster(), home, random};
  std::vector<const Disturbance*> kinds;
  for (const char* name : kKinds)
    for (const Disturbance* kind : disturbances_named(name))
      if (kind->name == name) kinds.push_back(kind);
  ASSERT_EQ(kinds.size(), std::size(kKinds));
  Deck deck(random, kinds);
  const auto end =
      Clock::now() + std::chrono::seconds(seconds_ != nullptr ? std::stoi(seconds_) : 20);
  while (Clock::now() < end) {
    // The next one waits in the queue, so that the end of a sweep leaves no node without work.
    if (sweeps.size() < 2 || !home.is_active(sweeps[sweeps.size() - 2])) {
      const double timeout_s = kTimeout_s * slowdown();
      sweeps.push_back(home.submit(sweep(timeout_s).text(), "slurm"));
      ASSERT_FALSE(sweeps.back().empty());
      timeouts_[sweeps.back()] = timeout_s;
    }
    if (!eventually([&] { return !home.engines().empty(); }, milliseconds(2000))) continue;
    sleep_for(milliseconds(std::uniform_int_distribution<int>(1000, 4000)(random)));
    const Disturbance& kind = deck.draw();
    const auto now = std::time(nullptr);
    const bool did = kind.happen(scene);
    std::cout << std::put_time(std::localtime(&now), "%T ") << (did ? "" : "(nothing there) ")
              << kind.name << std::endl;
    happened_[kind.name] += did ? 1 : 0;
    cluster().repair();
  }
}

void Chaos::look_at(SweepHome& home, const std::vector<std::string>& sweeps,
                    const Curves& undisturbed) {
  TrialLength length{GetParam().name, sweep().steps, GetParam().gradients};
  if (length.mode == "servers") length.mode = "async";
  for (const std::string& id : sweeps) {
    home.expect_nothing_lost_or_doubled(id);
    const auto trials = home.json({"show", id})["trials"].size();
    for (std::size_t trial = 1; trial <= trials; ++trial, ++trials_)
      samples_ += expect_samples_applied(home, id, static_cast<std::int64_t>(trial), length);
    if (GetParam().bitwise) expect_same_curves(id, undisturbed, home.curves(id));
  }
}

/// The run's row of tests/bench/results/chaos.md.
void Chaos::report(SweepHome& home, const std::vector<std::string>& sweeps, AttemptWatch& watch) {
  Silence longest;
  for (const Silence& silence : watch.silences()) {
    // Timeouts pass in wall time: one that was set while the machine was busy stays so long when it
    // no longer is.
    const double timeout = timeouts_.at(silence.attempt.substr(0, silence.attempt.find('/')));
    EXPECT_TRUE(silence.seconds <= kMaxSilence_s ||
                silence.wall_s <= timeout * kMaxSilence_s / kTimeout_s)
        << silence.seconds << " s (" << silence.wall_s << " s passed, timeout " << timeout
        << " s): " << silence.attempt << " made no progress after its line '" << silence.after
        << "'";
    if (silence.seconds >= longest.seconds) longest = silence;
  }
  for (const std::string& who : watch.overlaps(kFencedWithin_s))
    ADD_FAILURE() << "attempts ran side by side: " << who;
  std::ostringstream row;
  row << std::fixed << std::setprecision(1) << "| " << GetParam().name << " |";
  for (const char* kind : kKinds)
    row << " " << happened_[kind] << " |";
  const auto attempts =
      home.query("SELECT count(*) FROM attempts WHERE sweep >= " + sweeps.front());
  row << " " << sweeps.size() << " | " << trials_ << " | " << attempts["rows"][0][0] << " | "
      << longest.seconds << " s ("
      << (longest.after.empty() ? "while it started" : "after a line '" + longest.after + "'")
      << ") | " << samples_ << " |";
  std::cout << row.str() << std::endl;
}

TEST_P(Chaos, TrainingEndsRightly) {
  SweepHome home(cluster().env());
  fs::create_directories(home.home());
  write_file(home.home() / "config.yaml",
             "retry_backoff: 0.5\nslurm: {poll_interval: 1, file_lag: 2, start_timeout: 60}\n");
  Curves undisturbed;
  if (GetParam().bitwise) {
    const std::string id = home.submit(sweep().text(), "slurm");
    ASSERT_TRUE(home.wait_for_end(id, milliseconds(240000))) << home.thalweg({"show", id}).out;
    home.expect_nothing_lost_or_doubled(id);
    undisturbed = home.curves(id);
  }
  std::vector<std::string> sweeps;
  {
    AttemptWatch watch(home, cluster());
    disturb(home, sweeps);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(cluster().put_right()) << cluster().complaint();
    for (const std::string& id : sweeps)
      ASSERT_TRUE(home.wait_for_end(id, milliseconds(240000)))
          << "sweep " << id << " does not end:\n"
          << home.thalweg({"show", id}).out << cluster().slurm({"squeue"}).out;
    look_at(home, sweeps, undisturbed);
    report(home, sweeps, watch);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Chaos, testing::ValuesIn(kModes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace thalweg::test
