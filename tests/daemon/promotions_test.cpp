// Who goes on from a rung, from the events alone.
#include "daemon/state/promotions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/state/actions.h"
#include "tests/daemon/events.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using test::Log;
using testing::HasSubstr;
using Kind = Action::Kind;

struct Rungs {
  Log log;

  Rungs(int trials, bool waits, const char* goal = "minimize") {
    jobspec::Resources resources;
    json shape = resources_json(resources);
    shape["count"] = trials;
    log("submitted", "1",
        {{"backend", "fake"},
         {"limits", {{"max_nodes_in_flight", 64}, {"node_hours", 0}, {"max_retries", 2}}},
         {"metric", {{"name", "val/error"}, {"goal", goal}}},
         {"promotion",
          {{"method", "asha"},
           {"unit", "steps"},
           {"rungs", {10, 30}},
           {"reduction_factor", 3},
           {"waits", waits}}},
         {"shapes", {shape}}});
  }
  const SweepState& sweep() const { return log.state.sweeps.at(1); }
  const TrialState& trial(std::int64_t number) const {
    return sweep().trials[static_cast<std::size_t>(number - 1)];
  }
  std::string attempt(std::int64_t number) const {
    return "1." + std::to_string(number) + "." + std::to_string(trial(number).attempts + 1);
  }
  /// The trial runs and pauses with this value; nothing: no finite one.
  void pause(std::int64_t number, std::optional<double> value) {
    const std::string id = attempt(number);
    log.running(id);
    json data{{"cause", "paused"}, {"step", 10}, {"reason", "paused at step 10"}};
    if (value) data["value"] = *value;
    log("ended", id, data);
  }
  void finish(std::int64_t number) {
    const std::string id = attempt(number);
    log.running(id).ended(id, "finished", 90);
    log("trial_ended", "1." + std::to_string(number), {{"state", "finished"}});
  }
  /// The trial that is to go on, and it does; 0: none.
  std::int64_t promote() {
    const auto next = next_promotion(sweep());
    if (!next) return 0;
    log("promoted", "1." + std::to_string(next->trial), {{"rung", trial(next->trial).rung + 2}});
    return next->trial;
  }
  Plan plan() const { return actions(log.state, Facts{2000, {}}); }
};

TEST(Promotions, AshaPromotesTheBestPartOfThoseThatCame) {
  Rungs rungs(9, false);
  rungs.pause(1, 0.5);
  rungs.pause(2, 0.4);
  EXPECT_EQ(rungs.promote(), 0) << "a third of two is none";
  rungs.pause(3, 0.6);
  EXPECT_EQ(rungs.promote(), 2);
  EXPECT_EQ(rungs.promote(), 0) << "it waits for its start, and a third of three is one";
  rungs.pause(4, 0.3);
  rungs.pause(5, 0.2);
  EXPECT_EQ(rungs.promote(), 0) << "one at a time";
  rungs.log.running("1.2.2");
  EXPECT_EQ(rungs.promote(), 5);
}

TEST(Promotions, ValuesThatAreToBeLargeAndThoseThatAreNone) {
  Rungs rungs(9, false, "maximize");
  rungs.pause(1, {});
  rungs.pause(2, 0.1);
  rungs.pause(3, 0.7);
  EXPECT_EQ(rungs.promote(), 3);
}

TEST(Promotions, APromotedTrialStartsAgainAtOnceBeforeNewOnes) {
  Rungs rungs(4, false);
  for (const int trial : {1, 2, 3})
    rungs.pause(trial, 0.1 * trial);
  const Plan before = rungs.plan();
  EXPECT_EQ(before.actions.front().kind, Kind::promote);
  EXPECT_EQ(before.actions.front().id.trial, 1);
  rungs.promote();
  const Plan plan = rungs.plan();
  ASSERT_EQ(plan.actions.size(), 2u);
  EXPECT_EQ(plan.actions[0].kind, Kind::launch);
  EXPECT_EQ(plan.actions[0].id, (Id{1, 1, 2}));
  EXPECT_EQ(plan.actions[1].id, (Id{1, 4, 1}));
  EXPECT_THAT(plan.waiting.at(Id{1, 2, 0}), HasSubstr("paused: val/error 0.2 after 10 steps"));
}

TEST(Promotions, AtTheEndTheOthersAreFinishedEarly) {
  Rungs rungs(3, false);
  for (const int trial : {1, 2, 3})
    rungs.pause(trial, 0.1 * trial);
  EXPECT_EQ(rungs.promote(), 1);
  rungs.pause(1, 0.05);
  EXPECT_EQ(rungs.promote(), 1) << "alone at its rung, and nothing else is left to run";
  rungs.finish(1);
  const Plan plan = rungs.plan();
  ASSERT_EQ(plan.actions.size(), 2u);
  for (const Action& action : plan.actions) {
    EXPECT_EQ(action.kind, Kind::end_trial);
    EXPECT_EQ(action.trial, TrialPhase::finished);
    EXPECT_TRUE(action.reason.starts_with(jobspec::early_end_reason)) << action.reason;
  }
}

TEST(Promotions, SuccessiveHalvingWaitsForAll) {
  Rungs rungs(6, true);
  for (const int trial : {1, 2, 3, 4, 5})
    rungs.pause(trial, 0.1 * trial);
  EXPECT_EQ(rungs.promote(), 0);
  rungs.pause(6, 0.01);
  EXPECT_EQ(rungs.promote(), 6);
  EXPECT_EQ(rungs.promote(), 1);
  EXPECT_EQ(rungs.promote(), 0);
  rungs.pause(6, 0.01);
  EXPECT_EQ(rungs.promote(), 0) << "trial 1 is on its way";
  rungs.pause(1, 0.005);
  EXPECT_EQ(rungs.promote(), 1);
  EXPECT_EQ(rungs.promote(), 0);
}

TEST(Promotions, PausedTrialsAreCancelledWithTheirSweep) {
  Rungs rungs(3, false);
  rungs.pause(1, 0.1);
  rungs.log("cancel_requested", "1");
  const Plan plan = rungs.plan();
  EXPECT_EQ(plan.actions.front().kind, Kind::end_trial);
  EXPECT_EQ(plan.actions.front().id.trial, 1);
  EXPECT_EQ(plan.actions.front().trial, TrialPhase::cancelled);
}

}  // namespace
}  // namespace thalweg::daemon
