// Elastic trials: which size the next attempt has, and what the record says of it.
#include "daemon/state/sizes.h"

#include <gmock/gmock.h>

#include "daemon/state/actions.h"
#include "tests/daemon/events.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using test::Log;
using testing::HasSubstr;

jobspec::Resources range(int fewest, int most) {
  jobspec::Resources resources;
  resources.nodes = most;
  resources.min_nodes = fewest;
  return resources;
}

/// A sweep of elastic trials.
Log elastic(int trials, int fewest, int most, const json& limits = {}) {
  json shape = resources_json(range(fewest, most));
  shape["count"] = trials;
  json all{{"max_nodes_in_flight", 64}, {"node_hours", 0}, {"max_retries", 2}};
  if (limits.is_object()) all.update(limits);
  Log log;
  log("submitted", "1", {{"backend", "fake"}, {"limits", all}, {"shapes", {shape}}});
  return log;
}

json launching(const std::string& id, int size) {
  return {{"token", "token-" + id}, {"folder", "/x"}, {"backend", "fake"},
          {"nodes", size},          {"ranks", size},  {"size", size}};
}

struct RoomRow {
  int fewest, most, limit, room;
  int nodes;
  const char* offer;
};

TEST(Sizes, TheNextAttemptTakesWhatThereIs) {
  const RoomRow table[] = {
      {2, 8, -1, 64, 8, ""},
      {2, 8, -1, 8, 8, ""},
      {2, 8, -1, 5, 5, "the backend has room for"},
      {2, 8, -1, 2, 2, "the backend has room for"},
      {2, 8, -1, 1, 0, ""},
      {2, 8, 3, 64, 3, "limits.max_nodes_in_flight leaves"},
      {2, 8, 1, 64, 2, "limits.max_nodes_in_flight leaves"},  // it runs alone then
      {2, 8, 5, 4, 4, "the backend has room for"},
      {0, 8, -1, 7, 0, ""},  // not elastic: all or nothing
      {0, 8, 3, 8, 8, ""},
  };
  for (const RoomRow& row : table) {
    const AttemptSize size =
        size_of_next(range(row.fewest, row.most), row.limit,
                     [&](const jobspec::Resources& asked) { return asked.nodes <= row.room; });
    EXPECT_EQ(size.nodes, row.nodes) << row.limit << " " << row.room;
    EXPECT_EQ(size.offer, row.offer) << row.limit << " " << row.room;
  }
}

TEST(Sizes, TheReasonNamesWhatHappenedAndWhoHasNoMore) {
  const jobspec::Resources shape = range(2, 8);
  TrialState trial;
  EXPECT_EQ(size_reason(shape, trial, 8, ""), "") << "nothing to explain";
  EXPECT_EQ(size_reason(shape, trial, 5, "the backend gave"),
            "5 nodes: the backend gave 5 of 2 to 8");
  trial.nodes = 8;
  trial.last = EndCause::lost;
  trial.reason = "node failure: n3";
  EXPECT_EQ(size_reason(shape, trial, 8, ""), "");
  EXPECT_EQ(size_reason(shape, trial, 3, "the backend gave"),
            "8 -> 3 nodes: the attempt before was lost (node failure: n3); the backend gave 3 of "
            "2 to 8");
  EXPECT_EQ(size_reason(range(1, 8), {}, 1, "the backend gave"),
            "1 node: the backend gave 1 of 1 to 8");
  trial.nodes = 3;
  trial.last = EndCause::stopped;
  trial.reason = "preempted";
  EXPECT_EQ(size_reason(shape, trial, 8, ""),
            "3 -> 8 nodes: the attempt before was stopped (preempted); all are there");
  EXPECT_EQ(size_reason(range(0, 8), trial, 8, ""), "") << "not elastic";
}

TEST(Sizes, LaunchesShrinkToTheLimitOfNodesInFlight) {
  const Log log = elastic(3, 2, 8, {{"max_nodes_in_flight", 11}});
  const Plan plan = actions(log.state, {});
  ASSERT_EQ(plan.actions.size(), 2u);
  EXPECT_EQ(plan.actions[0].nodes, 8);
  EXPECT_EQ(plan.actions[0].reason, "");
  EXPECT_EQ(plan.actions[1].nodes, 3);
  EXPECT_EQ(plan.actions[1].reason, "limits.max_nodes_in_flight leaves");
  EXPECT_THAT(plan.waiting.at({1, 0, 0}), HasSubstr("11 nodes in flight"));
}

TEST(Sizes, LaunchesShrinkToTheRoomOfTheBackend) {
  Facts facts;
  facts.has_room = [](const std::string&, const jobspec::Resources& wanted,
                      const std::vector<jobspec::Resources>& running) {
    int nodes = wanted.nodes;
    for (const auto& one : running)
      nodes += one.nodes;
    return nodes <= 13;
  };
  const Log log = elastic(3, 2, 8);
  const Plan plan = actions(log.state, facts);
  ASSERT_EQ(plan.actions.size(), 2u);
  EXPECT_EQ(plan.actions[0].nodes, 8);
  EXPECT_EQ(plan.actions[1].nodes, 5);
}

TEST(Sizes, NodesInFlightAreThoseThatTheBackendGave) {
  Log log = elastic(2, 2, 8);
  const SweepState& sweep = log.state.sweeps.at(1);
  log("launching", "1.1.1", launching("1.1.1", 8));
  EXPECT_EQ(sweep.nodes_in_flight, 8);
  log("recorded", "1.1.1", {{"handle", "7"}})("released", "1.1.1");
  log("running", "1.1.1", {{"started", 1000.0}, {"size", 3}, {"size_reason", "r"}});
  EXPECT_EQ(sweep.nodes_in_flight, 3);
  EXPECT_EQ(log.state.live({1, 1, 1})->nodes, 3) << "what it costs";
  EXPECT_EQ(sweep.shape_of(*log.state.live({1, 1, 1})).nodes, 3);
  log.ended("1.1.1", "lost", 5);
  EXPECT_EQ(sweep.nodes_in_flight, 0);
  EXPECT_EQ(log.state.trial({1, 1, 0})->nodes, 3) << "the next attempt is compared with it";
}

TEST(Sizes, AnAttemptWhoseStartNobodySawTellsItsNodesAtItsEnd) {
  Log log = elastic(1, 2, 8);
  log("launching", "1.1.1", launching("1.1.1", 8));
  log("recorded", "1.1.1", {{"handle", "7"}})("released", "1.1.1");
  log("ended", "1.1.1", {{"cause", "lost"}, {"started", 990.0}, {"size", 6}});
  EXPECT_EQ(log.state.trial({1, 1, 0})->nodes, 6);
  EXPECT_EQ(log.state.sweeps.at(1).nodes_in_flight, 0);
}

TEST(Sizes, AnAttemptThatNeverRanIsNotCompared) {
  Log log = elastic(1, 2, 8);
  log("launching", "1.1.1", launching("1.1.1", 8)).ended("1.1.1", "lost");
  EXPECT_EQ(log.state.trial({1, 1, 0})->nodes, 0);
}

TEST(NodeFailures, AreCountedOverAllSweepsOfTheBackend) {
  constexpr double before = 3.6e6;
  Log log;
  EXPECT_EQ(node_failure_s(log.state, "fake"), before);
  log.sweep("1", 3).sweep("2", 1);
  log.running("1.1.1").ended("1.1.1", "lost");
  log.running("1.2.1").ended("1.2.1", "failed");
  log.running("2.1.1").ended("2.1.1", "finished");
  log.running("1.3.1").ended("1.3.1", "stopped");
  EXPECT_DOUBLE_EQ(node_failure_s(log.state, "fake"), (before + 4 * 10) / 3);
  EXPECT_EQ(node_failure_s(log.state, "local"), before) << "other machines";
  log.launching("1.1.2").ended("1.1.2", "lost");
  EXPECT_DOUBLE_EQ(node_failure_s(log.state, "fake"), (before + 5 * 10) / 3)
      << "it never ran: no node failed";
}

}  // namespace
}  // namespace thalweg::daemon
