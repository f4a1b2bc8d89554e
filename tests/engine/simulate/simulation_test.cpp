// Attempts on simulated ranks: the bits of a real run, the same journal again, and what a virtual
// clock must tell of the modes.
#include "engine/simulate/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine::simulate {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::HasSubstr;

/// Passes take milliseconds, messages microseconds.
Machine machine_of(int ranks) {
  Machine machine;
  machine.ranks = ranks;
  machine.sample_us = 1000;
  return machine;
}

Simulated run(const Trial& trial, const Machine& machine, const std::filesystem::path& folder) {
  const StopFlag never;
  std::filesystem::create_directories(folder);
  return simulate(trial, machine, folder, "trial.yaml", never);
}

Trial trial_of(const Map& sync) {
  Trial trial = tiny_trial();
  trial.train.set("sync", sync);
  return trial;
}

std::string journal_of(const Trial& trial, const Machine& machine) {
  const thalweg::test::TempDir folder;
  EXPECT_EQ(run(trial, machine, folder.path()).outcome.code, ExitCode::finished);
  return thalweg::test::read_file(folder.path() / "journal.jsonl");
}

/// The last value of each metric.
std::map<std::string, double> last_metrics(const Trial& trial, const Machine& machine) {
  const thalweg::test::TempDir folder;
  EXPECT_EQ(run(trial, machine, folder.path()).outcome.code, ExitCode::finished);
  std::map<std::string, double> last;
  for (const Value& line : lines_of(engine::read_journal(folder.path()), "metrics"))
    for (const Value& point : line.find("points")->as_list())
      last[point.as_list()[0].as_string()] = point.as_list()[2].as_double();
  return last;
}

/// Of each rank, between the first step and the last validation.
std::vector<double> idle_shares(const Trial& trial, const Machine& machine) {
  const thalweg::test::TempDir folder;
  EXPECT_EQ(run(trial, machine, folder.path()).outcome.code, ExitCode::finished);
  const auto journal = engine::read_journal(folder.path());
  const Value ranks = lines_of(journal, "ranks").back();
  const double seconds =
      ranks.find("t")->as_double() - lines_of(journal, "start").front().find("t")->as_double();
  std::vector<double> shares;
  for (const Value& ms : ranks.find("compute_ms")->as_list())
    shares.push_back(1 - ms.as_double() * static_cast<double>(ranks.find("steps")->as_int()) /
                             1000 / seconds);
  return shares;
}

// What of the modes' bits does not depend on the clock is that of ranks as threads.
TEST(Simulation, HasTheBitsOfARealRun) {
  const std::vector<Map> modes{
      Map{},
      Map{{"sum", "ranks"}, {"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}},
      Map{{"compress", "powersgd"}},
      Map{{"mode", "lag"}, {"lag", 2}, {"cooldown_steps", 4}},
      Map{{"mode", "local"}, {"period", 7}, {"synchronous_steps", 10}},
      Map{{"mode", "abs"}, {"passes", 3}},
      Map{{"mode", "hybrid"}, {"groups", 1}},
      Map{{"mode", "hybrid"}, {"groups", 1}, {"servers", 1}},
      Map{{"mode", "async"}, {"servers", 2}},
  };
  for (const Map& sync : modes) {
    const Trial trial = trial_of(sync);
    const thalweg::test::TempDir real, simulated;
    run_to_end(trial, real.path(), 3);
    EXPECT_EQ(run(trial, machine_of(3), simulated.path()).outcome.code, ExitCode::finished);
    EXPECT_EQ(curve({simulated.path()}), curve({real.path()})) << Value(sync).to_json();
  }
}

TEST(Simulation, UnequalRanksHaveTheBitsOfEqualOnes) {
  Trial trial = trial_of(Map{});
  const thalweg::test::TempDir equal, unequal;
  trial.train.set("batch", Map{{"global", 24}, {"shards", 6}});
  run_to_end(trial, equal.path(), 2);
  trial.train.set("batch", Map{{"global", 24}, {"shards", 6}, {"measure_shares", true}});
  trial.train.set("emulate", Map{{"slowdown", List{5.0, 1.0}}});
  run(trial, machine_of(2), unequal.path());
  EXPECT_EQ(curve({unequal.path()}), curve({equal.path()}));
  EXPECT_THAT(thalweg::test::read_file(unequal.path() / "journal.jsonl"),
              HasSubstr("1, 5 of 6 shards"));
}

// Also where they depend on the clock.
TEST(Simulation, TheSameInputGivesTheSameJournal) {
  for (const char* mode : {"sync", "local", "lag", "abs", "async", "hybrid"}) {
    Trial trial = trial_of(Map{{"mode", mode}});
    trial.train.set("emulate", Map{{"preset", "mixed"}, {"pause_every", 3}});
    const std::string journal = journal_of(trial, machine_of(5));
    EXPECT_EQ(journal, journal_of(trial, machine_of(5))) << mode;
    trial.train.set("emulate", Map{{"preset", "mixed"}, {"jitter", 0.3}});
    EXPECT_NE(journal, journal_of(trial, machine_of(5))) << mode;
  }
}

TEST(Simulation, RecordsSayThatTheyAreSimulated) {
  const thalweg::test::TempDir folder;
  Machine machine = machine_of(2);
  run(trial_of(Map{}), machine, folder.path());
  const auto journal = engine::read_journal(folder.path());
  for (std::size_t line = 1; line < journal.size(); ++line)
    EXPECT_EQ(journal[line].find("emulated")->as_string(), "simulated") << line;
  EXPECT_EQ(journal.front().find("simulation")->as_string(),
            "2 ranks, 1000 us a sample, messages 2 us + 10 GB/s");
  EXPECT_EQ(journal.back().find("status")->as_string(), "finished");
  // 60 steps of 12 samples of a millisecond on each rank, and some messages.
  const double seconds =
      journal.back().find("t")->as_double() - journal.front().find("t")->as_double();
  EXPECT_GT(seconds, 60 * 12 * 1e-3);
  EXPECT_LT(seconds, 60 * 12 * 1e-3 + 60 * 1e-3);
}

// The slower half takes twice as long: the others wait for it, or make two passes in its one.
TEST(Simulation, FastRanksIdleHalfOfTheTimeButNotUnderAbs) {
  Trial trial = trial_of(Map{});
  trial.train.set("emulate", Map{{"slowdown", List{2.0, 1.0}}});
  const std::vector<double> waits = idle_shares(trial, machine_of(4));
  for (const int rank : {1, 3})
    EXPECT_NEAR(waits[static_cast<std::size_t>(rank)], 0.5, 0.02);
  for (const int rank : {0, 2})
    EXPECT_LT(waits[static_cast<std::size_t>(rank)], 0.03);
  trial.train.set("sync", Map{{"mode", "abs"}});
  trial.train.set("epochs", 12);
  trial.train.set("eval", Map{{"every_epochs", 12}});
  trial.train.set("log", Map{{"every", 10000}});  // a log waits for the sum under way
  for (const double idle : idle_shares(trial, machine_of(4)))
    EXPECT_LT(idle, 0.01);
  const auto last = last_metrics(trial, machine_of(4));
  EXPECT_NEAR(last.at("sync/passes_max") / last.at("sync/passes_min"), 2, 0.1);
  EXPECT_EQ(last.at("sync/staleness_p50"), 1);
}

// With G equal groups each update finds G - 1 others since its weights were sent.
TEST(Simulation, GroupsAreAsStaleAsThereAreOthers) {
  for (const int groups : {2, 3, 6}) {
    Trial trial = trial_of(Map{{"mode", "hybrid"}, {"groups", groups}});
    trial.train.set("batch", Map{{"global", 24}, {"shards", 6}});
    const auto last = last_metrics(trial, machine_of(6));
    EXPECT_NEAR(last.at("sync/staleness_mean"), (groups - 1) * (1 - 0.5 / 20), 1e-9) << groups;
    EXPECT_LE(last.at("sync/staleness_p99"), 2 * groups) << groups;
  }
}

TEST(Simulation, GroupsWithServersApartAreAsStale) {
  for (const int groups : {2, 3, 6}) {
    Trial trial = trial_of(Map{{"mode", "hybrid"}, {"groups", groups}, {"servers", 2}});
    trial.train.set("batch", Map{{"global", 24}, {"shards", 6}});
    const auto last = last_metrics(trial, machine_of(8));
    EXPECT_NEAR(last.at("sync/staleness_mean"), (groups - 1) * (1 - 0.5 / 20), 1e-9) << groups;
  }
}

TEST(Simulation, AFastRankIsNotHeldUpByAsynchronousSgd) {
  Trial trial = trial_of(Map{{"mode", "async"}});
  trial.train.set("emulate", Map{{"slowdown", List{4.0, 1.0, 1.0, 1.0}}});
  const auto last = last_metrics(trial, machine_of(4));
  EXPECT_GT(last.at("sync/staleness_max"), 3) << "the slow one's weights are old";
}

TEST(Simulation, ManyRanks) {
  Trial trial = trial_of(Map{{"sum", "ranks"}});
  trial.train.set("data", Map{{"name", "synthetic"}, {"samples", 2096}, {"validation", 48}});
  trial.train.set("batch", Map{{"global", 128}});
  trial.train.set("epochs", 1);
  for (const Map& sync : {Map{{"sum", "ranks"}}, Map{{"mode", "local"}}, Map{{"mode", "abs"}},
                          Map{{"mode", "hybrid"}, {"groups", 4}}, Map{{"mode", "async"}},
                          Map{{"mode", "async"}, {"servers", 16}},
                          Map{{"mode", "hybrid"}, {"groups", 6}, {"servers", 4}}}) {
    trial.train.set("sync", sync);
    const thalweg::test::TempDir folder;
    const Simulated result = run(trial, machine_of(64), folder.path());
    EXPECT_EQ(result.outcome.code, ExitCode::finished) << Value(sync).to_json();
    EXPECT_GT(result.seconds, 4 * 2 * 1e-3);
  }
}

TEST(Simulation, SaysWhatCannotBeSimulated) {
  const auto refusal = [](const char* key, const Value& value) {
    Trial trial = tiny_trial();
    trial.train.set(key, value);
    const thalweg::test::TempDir folder;
    try {
      run(trial, machine_of(2), folder.path());
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("sync", Map{{"allreduce", "autotune"}}), HasSubstr("sync.allreduce"));
  EXPECT_THAT(refusal("model", Map{{"name", "mlp"},
                                   {"hidden", List{12}},
                                   {"batch_norm", true},
                                   {"sync_batch_norm", true}}),
              HasSubstr("model.sync_batch_norm"));
  EXPECT_THAT(refusal("batch", Map{{"global", 24}, {"shards", 1}}), HasSubstr("batch.shards"));
}

// In a process of its own: what ranks hold that have not ended is not freed.
TEST(Simulation, EndsWhereItIsAskedTo) {
  StopFlag stop;
  stop.request();
  const thalweg::test::TempDir folder;
  const auto interrupted = [&] {
    return simulate(trial_of(Map{}), machine_of(3), folder.path(), "trial.yaml", stop).interrupted;
  };
  EXPECT_EXIT(_exit(interrupted() ? 75 : 0), testing::ExitedWithCode(75), "");
}

}  // namespace
}  // namespace thalweg::engine::simulate
