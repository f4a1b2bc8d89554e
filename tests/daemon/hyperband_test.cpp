// Which trials hyperband ends, and that they end as finished.
#include "jobspec/early/rule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "db/store.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

using jobspec::TrialHistory;
using test::submit;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Trials = std::map<std::int64_t, TrialHistory>;

std::vector<std::int64_t> ended(const jobspec::EarlyTerminate& rule, const Trials& trials,
                                jobspec::Goal goal = jobspec::Goal::minimize) {
  jobspec::Metric metric;
  metric.name = "loss";
  metric.goal = goal;
  std::vector<std::int64_t> numbers;
  for (const auto& [trial, reason] : ended_early(rule, metric, trials))
    numbers.push_back(trial);
  return numbers;
}

/// The example of W&B's documentation of hyperband_stop_runs, with its outcome.
TEST(Hyperband, EndsWhatWandbEnds) {
  jobspec::EarlyTerminate rule;
  rule.strict = true;
  rule.max_iter = 5;
  rule.eta = 2;
  rule.s = 2;
  Trials trials{{1, {{10, 9}, false}},
                {2, {{10, 10}, true}},
                {3, {{10, 8, 8}, true}},
                {4, {{10, 7, 7}, true}},
                {5, {{10, 6, 6}, false}}};
  EXPECT_THAT(ended(rule, trials), ElementsAre(2));
  for (auto& [number, trial] : trials) {
    std::vector<double> values = trial.values();
    for (double& value : values)
      value = -value;
    trial = TrialHistory(values, trial.running);
  }
  EXPECT_THAT(ended(rule, trials, jobspec::Goal::maximize), ElementsAre(2));
  EXPECT_THAT(ended(rule, trials), ElementsAre(4)) << "the other way round: -7 is above -8";
}

TEST(Hyperband, NotStrictLooksAtTheBestValue) {
  jobspec::EarlyTerminate rule;
  rule.min_iter = 2;
  rule.eta = 2;
  rule.strict = true;
  const Trials trials{{1, {{5, 3}, true}}, {2, {{5, 4}, true}}, {3, {{1, 9}, true}}};
  EXPECT_THAT(ended(rule, trials), ElementsAre(3));
  rule.strict = false;
  EXPECT_THAT(ended(rule, trials), IsEmpty());
  EXPECT_THAT(ended(rule, {{1, {{7}, true}}, {2, {{1}, true}}}), IsEmpty()) << "before a band";
}

TEST(Hyperband, EndsWhatHasDivergedAtTheNextBand) {
  jobspec::EarlyTerminate rule;
  rule.min_iter = 2;
  rule.eta = 2;
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const bool strict : {true, false}) {
    rule.strict = strict;
    for (const double value : {nan, inf, -inf}) {
      EXPECT_THAT(ended(rule, {{1, {{value}, true}}}), IsEmpty()) << "before a band";
      EXPECT_THAT(ended(rule, {{1, {{value, value}, true}}}), ElementsAre(1)) << "all alone";
      EXPECT_THAT(ended(rule, {{1, {{1, value}, true}}, {2, {{9, 9}, true}}}), ElementsAre(1))
          << "good as it was before";
      EXPECT_THAT(ended(rule, {{1, {{1, 1, value}, true}}, {2, {{9, 9, 9, 9}, true}}}), IsEmpty())
          << "up to its next band it may come back";
      EXPECT_THAT(ended(rule, {{1, {{1, 1, 1, value}, true}}, {2, {{9, 9, 9, 9}, true}}}),
                  ElementsAre(1));
    }
    EXPECT_THAT(ended(rule, {{1, {{1, -inf}, true}}, {2, {{2, 2}, true}}}, jobspec::Goal::maximize),
                ElementsAre(1));
  }
  rule.strict = true;
  EXPECT_THAT(ended(rule, {{1, {{nan, 1}, true}}, {2, {{nan, 3}, true}}, {3, {{2, 9}, true}}}),
              ElementsAre(3))
      << "what came back counts again";
}

/// Trial number n reports 10 n all the time; all run at once.
TEST(EarlyStops, AreFinishedAndTellWhy) {
  World world;
  world.cluster.steps = 400;
  world.cluster.on_step = [](test::FakeJob& job) {
    test::write_line(job, fmt::format(R"("type":"metrics","points":[["val/score",{},{}]])",
                                      job.step, 10 * job.id.trial));
  };
  jobspec::Sweep sweep = test::sweep_of(4);
  sweep.metric.name = "val/score";
  sweep.early_terminate.emplace();
  sweep.early_terminate->min_iter = 3;
  World::Life life(world);
  const auto id = submit(*life.controller, sweep);
  ASSERT_TRUE(life.run_until(
      [&] { return life.controller->state().sweeps.at(id).phase != SweepPhase::active; }));
  const SweepState& state = life.controller->state().sweeps.at(id);
  EXPECT_EQ(state.phase, SweepPhase::finished);
  EXPECT_EQ(state.finished, 4);
  const auto steps = [&](std::int64_t trial) {
    return life.store->curve({id, trial, 0}, "val/score", 0).size();
  };
  EXPECT_EQ(steps(1), 400u);
  EXPECT_TRUE(state.trials[0].early.empty());
  for (const std::int64_t trial : {3, 4}) {
    EXPECT_LT(steps(trial), 400u) << trial;
    EXPECT_THAT(life.store->trial({id, trial, 0})->reason,
                HasSubstr(fmt::format("ended early: val/score {} after", 10 * trial)));
  }
  // Whoever wants more of it gets it.
  EXPECT_EQ(state.trials[3].attempts, 1);
}

}  // namespace
}  // namespace thalweg::daemon
