// What follows from a state: one row or one test per rule.
#include "daemon/state/actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/daemon/events.h"

namespace thalweg::daemon {
namespace {

using test::Log;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Action::Kind;

const char* word(Kind kind) {
  static constexpr const char* words[] = {"launch",    "submit",     "release",   "cancel", "drop",
                                          "end_trial", "stop_sweep", "end_sweep", "promote"};
  return words[static_cast<int>(kind)];
}

std::string detail(const Action& a) {
  if (a.kind == Kind::end_trial) return " " + std::string(name_of(a.trial));
  if (a.kind == Kind::end_sweep) return " " + std::string(name_of(a.sweep));
  return a.end_running ? " end_running" : "";
}

/// "launch 1.2.1", "end_trial 1.2 failed" ...
std::vector<std::string> words(const Plan& plan) {
  std::vector<std::string> result;
  for (const Action& a : plan.actions)
    result.push_back(std::string(word(a.kind)) + " " + a.id.to_string() + detail(a));
  return result;
}

std::vector<std::string> next(const Log& log, double now = 1000, const Policy& policy = {}) {
  Facts facts;
  facts.now = now;
  return words(actions(log.state, facts, policy));
}

/// Three draws, then two winners: trials 4 and 5.
Log study() {
  nlohmann::json shape = resources_json(jobspec::Resources());
  shape["count"] = 5;
  Log log;
  log("submitted", "1",
      {{"backend", "fake"},
       {"limits", {{"max_nodes_in_flight", 64}, {"node_hours", 0}, {"max_retries", 2}}},
       {"search", {{"method", "study"}, {"initial", 3}, {"parallel", 1}, {"seeds", 1}}},
       {"shapes", {shape}}});
  return log;
}

TEST(Actions, AStudysWinnersAreChosenWhenAllDrawsHaveEnded) {
  Log log = study();
  const auto choice = [&] { return next_choice(log.state.sweeps.at(1)); };
  const auto stage = [&] { return actions(log.state, {}).waiting[{1, 0, 0}]; };
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.1", "launch 1.2.1", "launch 1.3.1"));
  EXPECT_THAT(stage(), HasSubstr("its turn")) << "of the draws";
  EXPECT_THAT(actions(log.state, {}).waiting[Id({1, 4, 0})],
              HasSubstr("when all draws have ended (0 of 3 have)"));
  for (const char* attempt : {"1.1.1", "1.2.1", "1.3.1"})
    log.running(attempt);
  log.ended("1.1.1", "finished")("trial_ended", "1.1", {{"state", "finished"}});
  log.ended("1.2.1", "failed");
  log.ended("1.3.1", "finished")("trial_ended", "1.3", {{"state", "finished"}});
  EXPECT_EQ(choice(), std::nullopt) << "trial 2 will be tried again";
  log.running("1.2.2");
  EXPECT_THAT(stage(), HasSubstr("stage 1 of 2: 2 of 3 draws have ended"));
  EXPECT_THAT(stage(), HasSubstr("(trials 4 to 5)"));
  log.ended("1.2.2", "failed");
  EXPECT_EQ(choice(), std::nullopt);
  log("trial_ended", "1.2", {{"state", "failed"}});
  EXPECT_EQ(choice(), 4);
  const nlohmann::json data{{"parameters", "{}"}, {"train", "{}"}, {"hash", "h"}, {"reason", "r"}};
  log("chosen", "1.4", data)("chosen", "1.5", data);
  EXPECT_EQ(choice(), std::nullopt);
  EXPECT_THAT(next(log), ElementsAre("launch 1.4.1", "launch 1.5.1"));
  EXPECT_THAT(stage(), testing::Not(HasSubstr("stage")));
}

TEST(Actions, ACancelledWinnerHasItsConfigurationWhenItIsRetried) {
  Log log = study();
  for (const char* trial : {"1.1", "1.2", "1.3"})
    log.running(std::string(trial) + ".1")
        .ended(std::string(trial) + ".1", "finished")("trial_ended", trial,
                                                      {{"state", "finished"}});
  log("cancel_requested", "1.4")("trial_ended", "1.4", {{"state", "cancelled"}});
  const SweepState& sweep = log.state.sweeps.at(1);
  EXPECT_EQ(next_choice(sweep), 5);
  EXPECT_TRUE(sweep.can_be_given(4));
  EXPECT_FALSE(sweep.can_be_given(3));
  const nlohmann::json data{{"parameters", "{}"}, {"train", "{}"}, {"hash", "h"}, {"reason", "r"}};
  log("chosen", "1.4", data)("chosen", "1.5", data)("retry_requested", "1.4");
  EXPECT_THAT(next(log), ElementsAre("launch 1.4.1", "launch 1.5.1"));
}

/// Two seeds of each configuration, one configuration drawn, two trials at once.
TEST(Actions, ATrialStartsWhenItsConfigurationIsChosen) {
  Log log;
  log.sweep("1", 6, 1, {}, {{"initial", 1}, {"parallel", 2}, {"seeds", 2}});
  const auto choice = [&] { return next_choice(log.state.sweeps.at(1)); };
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.1", "launch 1.2.1"));
  EXPECT_EQ(choice(), std::nullopt) << "what is drawn has not started";
  log.running("1.1.1").running("1.2.1");
  EXPECT_THAT(next(log), ElementsAre());
  EXPECT_EQ(choice(), std::nullopt) << "two run";
  log.ended("1.1.1", "finished");
  EXPECT_EQ(choice(), std::nullopt) << "what its end means is not decided";
  log("trial_ended", "1.1", {{"state", "finished"}});
  EXPECT_EQ(choice(), 3);
  const nlohmann::json data{{"parameters", "{}"}, {"train", "{}"}, {"hash", "h"}, {"reason", "r"}};
  log("chosen", "1.3", data)("chosen", "1.4", data);
  EXPECT_EQ(choice(), std::nullopt);
  EXPECT_THAT(next(log), ElementsAre("launch 1.3.1", "launch 1.4.1"));
  log("cancel_requested", "1");
  EXPECT_THAT(next(log),
              ElementsAre("cancel 1.2.1", "end_trial 1.3 cancelled", "end_trial 1.4 cancelled",
                          "end_trial 1.5 cancelled", "end_trial 1.6 cancelled"));
  EXPECT_EQ(choice(), std::nullopt) << "it is being ended";
}

/// Of three configurations each: the next generation waits for the last trial of the one before.
TEST(Actions, NothingIsChosenWhileTheGenerationBeforeRuns) {
  Log log;
  log.sweep("1", 6, 1, {}, {{"initial", 3}, {"parallel", 3}, {"seeds", 1}, {"generation", 3}});
  const auto choice = [&] { return next_choice(log.state.sweeps.at(1)); };
  for (const char* attempt : {"1.1.1", "1.2.1", "1.3.1"})
    log.running(attempt);
  for (const auto& [trial, state] : {std::pair{"1.1", "finished"}, {"1.2", "failed"}}) {
    log.ended(std::string(trial) + ".1", state)("trial_ended", trial, {{"state", state}});
    EXPECT_EQ(choice(), std::nullopt) << trial;
  }
  log.ended("1.3.1", "finished");
  EXPECT_EQ(choice(), std::nullopt) << "what its end means is not decided";
  log("trial_ended", "1.3", {{"state", "finished"}});
  const nlohmann::json data{{"parameters", "{}"}, {"train", "{}"}, {"hash", "h"}, {"reason", "r"}};
  for (const std::int64_t trial : {4, 5, 6}) {
    EXPECT_EQ(choice(), trial) << "the others of its generation are not waited for";
    log("chosen", "1." + std::to_string(trial), data);
    log.running("1." + std::to_string(trial) + ".1");
  }
}

/// The order in which the trials of a sweep would start.
std::vector<std::int64_t> starts(int trials, const nlohmann::json& start_order) {
  Log log;
  log.sweep("1", trials, 1, {}, {}, start_order);
  std::vector<std::int64_t> order;
  for (const Action& action : actions(log.state, {}, {}).actions)
    if (action.kind == Kind::launch) order.push_back(action.id.trial);
  return order;
}

TEST(Actions, TrialsThatMayEndEarlyStartInADrawnOrder) {
  EXPECT_THAT(starts(4, nullptr), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(starts(8, 3), starts(8, 3)) << "replayed alike";
  EXPECT_NE(starts(8, 3), starts(8, 4));
  // The first to start is each of four in a quarter of all sweeps; 3.5 standard deviations of 400
  // draws.
  constexpr int trials = 4, seeds = 400;
  std::map<std::int64_t, int> first;
  for (int seed = 0; seed < seeds; ++seed) {
    std::vector<std::int64_t> order = starts(trials, seed);
    first[order.front()] += 1;
    std::sort(order.begin(), order.end());
    ASSERT_THAT(order, ElementsAre(1, 2, 3, 4));
  }
  for (std::int64_t trial = 1; trial <= trials; ++trial)
    EXPECT_NEAR(first[trial], seeds / trials, 30) << trial;
}

/// Those that are added later, and those that are tried again, have their places in the same order.
TEST(Actions, AddedTrialsStartInTheDrawnOrderToo) {
  Log log;
  log.sweep("1", 3, 1, {}, {}, 5);
  nlohmann::json shape = resources_json({});
  shape["count"] = 3;
  log("trials_added", "1",
      {{"limits", {{"max_nodes_in_flight", 64}, {"node_hours", 0}, {"max_retries", 2}}},
       {"shapes", {shape}}});
  std::vector<std::int64_t> order;
  for (const Action& action : actions(log.state, {}, {}).actions)
    order.push_back(action.id.trial);
  EXPECT_EQ(order, starts(6, 5));
}

TEST(Actions, FollowAnAttemptThroughItsPhases) {
  Log log;
  log.sweep("1", 1);
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.1"));
  log.launching("1.1.1");
  EXPECT_THAT(next(log), ElementsAre("submit 1.1.1"));
  log("recorded", "1.1.1", {{"handle", "5"}});
  EXPECT_THAT(next(log), ElementsAre("release 1.1.1"));
  log("released", "1.1.1");
  EXPECT_THAT(next(log), ElementsAre());
  log("running", "1.1.1", {{"started", 1000.0}});
  EXPECT_THAT(next(log), ElementsAre());
  log.ended("1.1.1", "finished");
  EXPECT_THAT(next(log), ElementsAre("end_trial 1.1 finished"));
  log("trial_ended", "1.1", {{"state", "finished"}});
  EXPECT_THAT(next(log), ElementsAre("end_sweep 1 finished"));
  log("sweep_ended", "1", {{"state", "finished"}});
  EXPECT_THAT(next(log), ElementsAre());
}

TEST(Actions, AskingTwiceGivesTheSame) {
  Log log;
  log.sweep("1", 5).sweep("2", 5).running("1.1.1").launching("2.1.1");
  EXPECT_EQ(next(log), next(log));
}

struct EndRow {
  const char* cause;
  std::vector<std::string> at_once;  ///< at the moment of the end
  std::vector<std::string> later;    ///< ten minutes after
};

TEST(Actions, EachCauseOfAnEndHasItsConsequence) {
  const EndRow table[] = {
      {"finished", {"end_trial 1.1 finished"}, {"end_trial 1.1 finished"}},
      {"bad_input", {"end_trial 1.1 failed"}, {"end_trial 1.1 failed"}},
      {"refused", {"end_trial 1.1 failed"}, {"end_trial 1.1 failed"}},
      {"diverged", {"end_trial 1.1 failed"}, {"end_trial 1.1 failed"}},
      {"cancelled", {"end_trial 1.1 cancelled"}, {"end_trial 1.1 cancelled"}},
      {"failed", {}, {"launch 1.1.2"}},
      {"lost", {}, {"launch 1.1.2"}},
      {"stopped", {"launch 1.1.2"}, {"launch 1.1.2"}},  // with a further step
  };
  for (const auto& row : table) {
    Log log;
    log.sweep("1", 1).running("1.1.1").ended("1.1.1", row.cause,
                                             std::string(row.cause) == "stopped" ? 5 : 0);
    EXPECT_EQ(next(log, 1000), row.at_once) << row.cause;
    EXPECT_EQ(next(log, 1600), row.later) << row.cause;
  }
}

TEST(Actions, FailuresAreRetriedUpToTheLimitWithGrowingPauses) {
  Log log;
  log.sweep("1", 1, 1, {{"max_retries", 2}});
  log.running("1.1.1").ended("1.1.1", "failed");
  EXPECT_THAT(next(log, 1001.9), ElementsAre());
  EXPECT_THAT(next(log, 1002), ElementsAre("launch 1.1.2"));
  log.running("1.1.2").ended("1.1.2", "failed");
  EXPECT_THAT(next(log, 1007.9), ElementsAre());
  EXPECT_THAT(next(log, 1008), ElementsAre("launch 1.1.3"));
  log.running("1.1.3").ended("1.1.3", "failed");
  EXPECT_THAT(next(log, 1000), ElementsAre("end_trial 1.1 failed"));
}

TEST(Actions, APauseDoesNotOutlastAClockThatWasSetBack) {
  Log log;
  log.sweep("1", 1).running("1.1.1").ended("1.1.1", "failed");
  EXPECT_THAT(next(log, 1001), ElementsAre());
  EXPECT_THAT(next(log, 500), ElementsAre("launch 1.1.2"));
}

TEST(Actions, BackoffGrowsAndEnds) {
  const Policy policy;
  EXPECT_EQ(backoff_s(policy, 0), 0);
  EXPECT_EQ(backoff_s(policy, 1), 2);
  EXPECT_EQ(backoff_s(policy, 3), 32);
  EXPECT_EQ(backoff_s(policy, 100), policy.max_backoff_s);
}

TEST(Actions, StopsWithProgressGoOnForEverWithoutItTheyEnd) {
  Log log;
  log.sweep("1", 1, 1, {{"max_retries", 0}});
  int attempt = 0;
  const auto stop_at = [&](std::int64_t step) {
    const std::string id = "1.1." + std::to_string(++attempt);
    log.running(id).ended(id, "stopped", step);
  };
  for (int i = 1; i <= 20; ++i)
    stop_at(i);
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.21"));
  for (int i = 0; i < 5; ++i)
    stop_at(20);
  EXPECT_THAT(next(log, 9999), ElementsAre("end_trial 1.1 failed"));
}

TEST(Actions, NodesInFlightAreLimited) {
  Log log;
  log.sweep("1", 5, 2, {{"max_nodes_in_flight", 5}});
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.1", "launch 1.2.1"));
  log.launching("1.1.1");
  EXPECT_THAT(next(log), ElementsAre("submit 1.1.1", "launch 1.2.1"));
  Facts facts;
  EXPECT_THAT(actions(log.state, facts).waiting.at({1, 0, 0}),
              HasSubstr("max_nodes_in_flight = 5"));
}

TEST(Actions, ATrialWiderThanTheLimitRunsAlone) {
  Log log;
  log.sweep("1", 2, 8, {{"max_nodes_in_flight", 4}});
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.1"));
}

TEST(Actions, SweepsTakeTurns) {
  Log log;
  log.sweep("1", 3).sweep("2", 3);
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.1", "launch 2.1.1", "launch 1.2.1", "launch 2.2.1",
                                     "launch 1.3.1", "launch 2.3.1"));
}

/// Room for one attempt at a time.
bool one_at_a_time(const std::string&, const jobspec::Resources&,
                   const std::vector<jobspec::Resources>& running) {
  return running.empty();
}

/// Alice has two sweeps, Bob one; room for six nodes.
Log two_users() {
  Log log;
  log.sweep("1", 9).sweep("2", 9).sweep("3", 9);
  for (const std::int64_t sweep : {1, 2})
    log.state.sweeps.at(sweep).owner = Owner{1001, 1001, "alice", ""};
  log.state.sweeps.at(3).owner = Owner{1002, 1002, "bob", ""};
  return log;
}

TEST(Actions, UsersTakeTurns) {
  Policy policy;
  policy.launches_per_round = 6;
  const Log log = two_users();
  EXPECT_THAT(next(log, 1000, policy), ElementsAre("launch 1.1.1", "launch 3.1.1", "launch 2.1.1",
                                                   "launch 3.2.1", "launch 1.2.1", "launch 3.3.1"));
  // What runs counts, too.
  Log later = two_users();
  later.running("3.1.1").running("3.2.1").running("3.3.1");
  EXPECT_THAT(next(later, 1000, policy),
              ElementsAre("launch 1.1.1", "launch 2.1.1", "launch 1.2.1", "launch 2.2.1",
                          "launch 3.4.1", "launch 1.3.1"));
}

TEST(Actions, NodesOfOneUserAreLimited) {
  Policy policy;
  policy.quotas.user.max_nodes = 3;
  Facts facts;
  facts.now = 1000;
  Log log = two_users();
  log.running("1.1.1").running("2.1.1");
  const Plan plan = actions(log.state, facts, policy);
  EXPECT_THAT(words(plan),
              ElementsAre("launch 3.1.1", "launch 3.2.1", "launch 1.2.1", "launch 3.3.1"));
  EXPECT_EQ(plan.waiting.at({2, 0, 0}),
            "3 nodes of alice in flight (site.quotas.user.max_nodes = 3)");
  // A trial that is wider than that waits, also alone.
  Log wide;
  wide.sweep("1", 1, 4);
  wide.state.sweeps.at(1).owner = Owner{1001, 1001, "alice", ""};
  EXPECT_THAT(next(wide, 1000, policy), ElementsAre());
}

TEST(Actions, NodesOfOneAccountAreLimited) {
  Policy policy;
  policy.quotas.account.max_nodes = 2;
  policy.quotas.accounts["hep"].max_nodes = 3;
  Log log = two_users();
  // Alice's first sweep and bob's are of one account, alice's second of another.
  for (const std::int64_t sweep : {1, 3})
    log.state.sweeps.at(sweep).slurm.options["account"] = "hep";
  log.state.sweeps.at(2).slurm.options["account"] = "bio";
  Facts facts;
  facts.now = 1000;
  const Plan plan = actions(log.state, facts, policy);
  EXPECT_THAT(words(plan), ElementsAre("launch 1.1.1", "launch 3.1.1", "launch 2.1.1",
                                       "launch 3.2.1", "launch 2.2.1"));
  EXPECT_EQ(plan.waiting.at({1, 0, 0}),
            "3 nodes of account hep in flight (site.quotas.accounts.hep.max_nodes = 3)");
  EXPECT_EQ(plan.waiting.at({2, 0, 0}),
            "2 nodes of account bio in flight (site.quotas.account.max_nodes = 2)");
}

TEST(Actions, WhoHasUsedHisNodeHoursWaits) {
  constexpr double day = 86400, hour = 3600;
  Policy policy;
  policy.quotas.user.node_hours = 1;
  policy.quotas.days = 3;
  Log log = two_users();
  log.time = 10 * day;
  log.running("1.1.1");
  log.time += hour;
  log("ended", "1.1.1", {{"cause", "finished"}, {"node_seconds", hour}});
  log("trial_ended", "1.1", {{"state", "finished"}});
  Facts facts;
  facts.now = log.time;
  const auto waits = [&](std::int64_t sweep) {  // because of node-hours
    const Plan plan = actions(log.state, facts, policy);
    const auto why = plan.waiting.find({sweep, 0, 0});
    const bool quota =
        why != plan.waiting.end() && why->second.find("node-hours") != std::string::npos;
    return quota ? why->second : std::string();
  };
  const std::string spent =
      "alice has used 1.0 node-hours in 3 days (site.quotas.user.node_hours = 1)";
  EXPECT_EQ(waits(1), spent);
  EXPECT_EQ(waits(2), spent) << "all her sweeps";
  EXPECT_EQ(waits(3), "") << "bob";
  facts.now = 12 * day + 23 * hour;  // the third day of it
  EXPECT_EQ(waits(1), spent);
  facts.now = 13 * day;
  EXPECT_EQ(waits(1), "");
  // Another quota of her own.
  facts.now = log.time;
  policy.quotas.users["alice"].node_hours = 2;
  EXPECT_EQ(waits(1), "");
  // What runs counts as far as it has come.
  log.running("2.1.1");
  facts.now = log.time + 2 * hour;
  EXPECT_THAT(waits(1), HasSubstr("alice has used 3.0 node-hours"));
  EXPECT_THAT(words(actions(log.state, facts, policy)),
              testing::Not(testing::Contains("cancel 2.1.1")));
}

TEST(Actions, ARemovedSweepsNodeHoursStayUsed) {
  Log log;
  log.sweep("1", 1);
  log.state.sweeps.at(1).owner = Owner{1001, 1001, "alice", ""};
  log.state.sweeps.at(1).slurm.options["account"] = "hep";
  log.running("1.1.1").ended("1.1.1", "finished");
  log("trial_ended", "1.1", {{"state", "finished"}})("sweep_ended", "1", {{"state", "finished"}});
  log("removing", "1")("removed", "1");
  ASSERT_TRUE(log.state.sweeps.empty());
  EXPECT_EQ(log.state.usage.users.at("alice").node_seconds(log.time, 1), 10);
  EXPECT_EQ(log.state.usage.accounts.at("hep").node_seconds(log.time, 1), 10);
}

TEST(Usage, IsSpreadOverTheDays) {
  constexpr double day = 86400;
  Usage usage;
  usage.add(1.5 * day, 3.5 * day, 400);  // half of the first, all of the second, half of the third
  EXPECT_EQ(usage.node_seconds(3.6 * day, 1), 100);
  EXPECT_EQ(usage.node_seconds(3.6 * day, 2), 300);
  EXPECT_EQ(usage.node_seconds(3.6 * day, 3), 400);
  EXPECT_EQ(usage.node_seconds(5 * day, 2), 0);
  usage.add(3.6 * day, 3.6 * day, 7);  // an end that a clock has put before the start
  usage.add(3.6 * day, 3.5 * day, 7);
  EXPECT_EQ(usage.node_seconds(3.6 * day, 1), 114);
}

TEST(Actions, WithLittleRoomTheOneThatWaitedLongestIsNext) {
  Log log;
  log.sweep("1", 3).sweep("2", 3).running("1.1.1").ended("1.1.1", "finished");
  log("trial_ended", "1.1", {{"state", "finished"}});
  Facts facts;
  facts.now = 1000;
  facts.has_room = one_at_a_time;
  const Plan plan = actions(log.state, facts);
  EXPECT_THAT(words(plan), ElementsAre("launch 2.1.1"));
  EXPECT_THAT(plan.waiting.at({1, 0, 0}), HasSubstr("turn"));
}

TEST(Actions, AWideTrialIsNotStarvedByNarrowOnes) {
  Log log;
  log.sweep("1", 9).sweep("2", 1, 2).running("1.1.1");
  Facts facts;
  facts.now = 1000;
  facts.has_room = [](const std::string&, const jobspec::Resources& wanted,
                      const std::vector<jobspec::Resources>& running) {
    int nodes = wanted.nodes;
    for (const auto& r : running)
      nodes += r.nodes;
    return nodes <= 2;
  };
  EXPECT_THAT(words(actions(log.state, facts)), ElementsAre())
      << "the second core is kept for sweep 2";
}

TEST(Actions, CancellingASweepEndsEverythingByItsPhase) {
  Log log;
  log.sweep("1", 4).running("1.1.1").launching("1.2.1").running("1.3.1").ended("1.3.1", "failed");
  log("cancel_requested", "1");
  EXPECT_THAT(next(log), ElementsAre("cancel 1.1.1", "drop 1.2.1", "end_trial 1.3 cancelled",
                                     "end_trial 1.4 cancelled"));
}

TEST(Actions, CancellingATrialLeavesTheOthers) {
  Log log;
  log.sweep("1", 2).running("1.1.1")("cancel_requested", "1.1");
  EXPECT_THAT(next(log), ElementsAre("cancel 1.1.1", "launch 1.2.1"));
}

TEST(Actions, TheBudgetEndsWhatRuns) {
  Log log;
  log.sweep("1", 2, 1, {{"node_hours", 1}}).running("1.1.1");
  EXPECT_THAT(next(log, 1000 + 3599), ElementsAre("launch 1.2.1"));
  EXPECT_THAT(next(log, 1000 + 3600), ElementsAre("stop_sweep 1 end_running"));
  log("stopped", "1", {{"reason", "budget"}, {"end_running", true}});
  EXPECT_THAT(next(log, 1000 + 3600), ElementsAre("cancel 1.1.1", "end_trial 1.2 cancelled"));
}

TEST(Actions, ASweepStartsWhenThoseBeforeItHaveEnded) {
  Log log;
  log.sweep("1", 1).sweep("2", 1, 1, {}, {}, {}, {{"after", {1, 99}}});
  EXPECT_THAT(next(log), ElementsAre("launch 1.1.1"));
  log.running("1.1.1").ended("1.1.1", "finished")("trial_ended", "1.1", {{"state", "finished"}});
  EXPECT_THAT(next(log), ElementsAre("end_sweep 1 finished"));
  log("sweep_ended", "1", {{"state", "finished"}});
  EXPECT_THAT(next(log), ElementsAre("launch 2.1.1")) << "there is no sweep 99 any more";
}

TEST(Actions, TheDeadlineEndsWhatRuns) {
  Log log;
  log.sweep("1", 3, 1, {{"deadline", 5000}}).running("1.1.1");
  EXPECT_THAT(next(log, 4999), ElementsAre("launch 1.2.1", "launch 1.3.1"));
  EXPECT_THAT(next(log, 5000), ElementsAre("stop_sweep 1 end_running"));
  log("stopped", "1", {{"reason", "deadline"}, {"end_running", true}});
  EXPECT_THAT(next(log, 5000),
              ElementsAre("cancel 1.1.1", "end_trial 1.2 cancelled", "end_trial 1.3 cancelled"));
  log.ended("1.1.1", "cancelled")("trial_ended", "1.1", {{"state", "cancelled"}});
}

TEST(Actions, OneFaultInEveryTrialStopsTheSweep) {
  const struct {
    const char* cause;
    const char* reason;
    int needed;  ///< trials until it stops; 0 = never
  } table[] = {{"bad_input", "trial: no such file", 5},
               {"refused", "invalid partition", 5},
               {"failed", "killed by signal 11", 10},
               {"diverged", "diverged at step 3", 0}};
  for (const auto& row : table) {
    Log log;
    log.sweep("1", 1000, 1, {{"max_retries", 0}});
    for (int i = 1; i <= 12; ++i) {
      const bool stops = [&] {
        for (const auto& w : next(log))
          if (w.rfind("stop_sweep", 0) == 0) return true;
        return false;
      }();
      EXPECT_EQ(stops, row.needed > 0 && i - 1 >= row.needed) << row.cause << " after " << i - 1;
      const std::string trial = "1." + std::to_string(i);
      log.running(trial + ".1").ended(trial + ".1", row.cause, 0, row.reason);
      log("trial_ended", trial, {{"state", "failed"}, {"reason", row.reason}});
    }
  }
}

TEST(Actions, AStoppedSweepEndsItsPendingTrialsAndFails) {
  Log log;
  log.sweep("1", 2).running("1.1.1")("stopped", "1", {{"reason", "the first 5 trials failed"}});
  EXPECT_THAT(next(log), ElementsAre("end_trial 1.2 cancelled")) << "what runs may go on";
  log("trial_ended", "1.2", {{"state", "cancelled"}}).ended("1.1.1", "finished");
  log("trial_ended", "1.1", {{"state", "finished"}});
  EXPECT_THAT(next(log), ElementsAre("end_sweep 1 failed"));
}

TEST(Actions, OneSuccessKeepsTheSweepGoing) {
  Log log;
  log.sweep("1", 100).running("1.99.1").ended("1.99.1", "finished");
  log("trial_ended", "1.99", {{"state", "finished"}});
  for (int i = 1; i <= 20; ++i) {
    const std::string trial = "1." + std::to_string(i);
    log.running(trial + ".1").ended(trial + ".1", "bad_input", 0, "same");
    log("trial_ended", trial, {{"state", "failed"}, {"reason", "same"}});
  }
  EXPECT_THAT(next(log).front(), HasSubstr("launch"));
}

TEST(Actions, EndStateOfASweep) {
  const struct {
    std::vector<const char*> trials;
    bool cancel;
    const char* state;
  } table[] = {{{"finished", "finished"}, false, "finished"},
               {{"finished", "failed"}, false, "failed"},
               {{"finished", "cancelled"}, false, "cancelled"},  // by somebody else: scancel
               {{"failed", "cancelled"}, false, "failed"},
               {{"cancelled", "cancelled"}, false, "cancelled"},
               {{"finished", "cancelled"}, true, "cancelled"}};
  for (const auto& row : table) {
    Log log;
    log.sweep("1", static_cast<int>(row.trials.size()));
    if (row.cancel) log("cancel_requested", "1");
    for (std::size_t i = 0; i < row.trials.size(); ++i)
      log("trial_ended", "1." + std::to_string(i + 1), {{"state", row.trials[i]}});
    EXPECT_THAT(next(log), ElementsAre(std::string("end_sweep 1 ") + row.state));
  }
  Log log;
  log.sweep("1", 2)("cancel_requested", "1.2");
  log("trial_ended", "1.1", {{"state", "finished"}});
  log("trial_ended", "1.2", {{"state", "cancelled"}});
  EXPECT_THAT(next(log), ElementsAre("end_sweep 1 finished")) << "all that was wanted";
}

TEST(Actions, AHundredThousandTrialsAreStartedInRounds) {
  Log log;
  log.sweep("1", 100000, 1, {{"max_nodes_in_flight", 1000}});
  EXPECT_EQ(next(log).size(), static_cast<std::size_t>(Policy{}.launches_per_round));
}

}  // namespace
}  // namespace thalweg::daemon
