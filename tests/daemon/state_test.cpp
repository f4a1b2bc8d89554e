#include "daemon/state/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "daemon/state/events.h"
#include "tests/daemon/events.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using test::Log;
using testing::ElementsAre;

TEST(State, AnAttemptGoesThroughItsPhases) {
  Log log;
  log.sweep("7", 2);
  const SweepState& sweep = log.state.sweeps.at(7);
  EXPECT_EQ(sweep.open, 2);
  EXPECT_THAT(sweep.unstarted, ElementsAre(1, 2));

  log.launching("7.1.1");
  ASSERT_NE(log.state.live({7, 1, 1}), nullptr);
  EXPECT_EQ(log.state.live({7, 1, 1})->phase, AttemptPhase::launching);
  EXPECT_TRUE(log.state.live({7, 1, 1})->handle.empty());
  EXPECT_EQ(log.state.tokens.at("token-7.1.1"), (Id{7, 1, 1}));
  EXPECT_EQ(sweep.nodes_in_flight, 1);

  log("recorded", "7.1.1", {{"handle", "55"}});
  EXPECT_EQ(log.state.live({7, 1, 1})->handle, "55");
  log("released", "7.1.1");
  EXPECT_EQ(log.state.live({7, 1, 1})->phase, AttemptPhase::released);
  EXPECT_EQ(log.state.trial({7, 1, 0})->phase, TrialPhase::pending);
  log("running", "7.1.1", {{"started", 1001.0}, {"node_list", "n1"}});
  EXPECT_EQ(log.state.trial({7, 1, 0})->phase, TrialPhase::running);

  log.ended("7.1.1", "finished", 100);
  EXPECT_EQ(log.state.live({7, 1, 1}), nullptr);
  EXPECT_TRUE(log.state.tokens.empty());
  EXPECT_EQ(sweep.nodes_in_flight, 0);
  EXPECT_EQ(sweep.awaiting_decision, (std::set<std::int64_t>{1}));
  EXPECT_EQ(sweep.open, 2) << "only trial_ended ends a trial";

  log("trial_ended", "7.1", {{"state", "finished"}});
  EXPECT_EQ(sweep.open, 1);
  EXPECT_EQ(sweep.finished, 1);
}

TEST(State, CountsFailuresAndIdleEndsApart) {
  Log log;
  log.sweep("1", 1).running("1.1.1").ended("1.1.1", "failed", 50);
  EXPECT_EQ(log.state.trial({1, 1, 0})->failures, 1);
  log.running("1.1.2").ended("1.1.2", "stopped", 60);
  EXPECT_EQ(log.state.trial({1, 1, 0})->failures, 1) << "a stop is no failure";
  EXPECT_EQ(log.state.trial({1, 1, 0})->no_progress_exits, 0) << "it got further";
  log.running("1.1.3").ended("1.1.3", "lost", 60);
  EXPECT_EQ(log.state.trial({1, 1, 0})->no_progress_exits, 1) << "it got no further";
  log.running("1.1.4").ended("1.1.4", "stopped", 61);
  EXPECT_EQ(log.state.trial({1, 1, 0})->no_progress_exits, 0);
  EXPECT_EQ(log.state.trial({1, 1, 0})->best_step, 61);
}

TEST(State, ARetryRequestOpensTrialAndSweepAgain) {
  Log log;
  log.sweep("1", 1).running("1.1.1").ended("1.1.1", "bad_input")("trial_ended", "1.1",
                                                                 {{"state", "failed"}});
  log("stopped", "1", {{"reason", "breaker"}})("sweep_ended", "1", {{"state", "failed"}});
  log("retry_requested", "1.1");
  const SweepState& sweep = log.state.sweeps.at(1);
  EXPECT_EQ(sweep.phase, SweepPhase::active);
  EXPECT_TRUE(sweep.stopped.empty());
  EXPECT_EQ(sweep.failed, 0);
  EXPECT_THAT(sweep.unstarted, ElementsAre(1));
  EXPECT_EQ(log.state.trial({1, 1, 0})->attempts, 1) << "attempt numbers go on";
}

TEST(State, ImportedTrialsHaveFinished) {
  Log log;
  const json data{{"metric", metric_json({"loss", jobspec::Goal::minimize, {0.5}})},
                  {"trials", 3},
                  {"owner", {{"uid", 5}, {"gid", 6}, {"user", "ada"}, {"grant", ""}}}};
  log("imported", "4", data);
  const SweepState& sweep = log.state.sweeps.at(4);
  EXPECT_TRUE(sweep.imported());
  EXPECT_EQ(sweep.phase, SweepPhase::finished);
  EXPECT_EQ(sweep.finished, 3);
  EXPECT_EQ(sweep.open, 0);
  EXPECT_TRUE(sweep.unstarted.empty());
  EXPECT_FALSE(sweep.to_prune);
  EXPECT_EQ(sweep.metric.name, "loss");
  EXPECT_EQ(sweep.owner->user, "ada");
  EXPECT_EQ(log.state.trial({4, 3, 0})->phase, TrialPhase::finished);
  EXPECT_EQ(log.state.trial({4, 4, 0}), nullptr);
  EXPECT_THROW(log("imported", "4", data), std::runtime_error);
  log("removing", "4")("removed", "4");
  EXPECT_TRUE(log.state.sweeps.empty());
}

TEST(State, AddedTrialsOpenASweepAgain) {
  Log log;
  log.sweep("1", 2, 1, {{"node_hours", 1}});
  log("trial_ended", "1.1", {{"state", "finished"}})("trial_ended", "1.2", {{"state", "failed"}});
  log("stopped", "1", {{"reason", "budget"}, {"end_running", true}});
  log("sweep_ended", "1", {{"state", "failed"}});
  json shape = resources_json({});
  shape["count"] = 2;
  json wide = shape;
  wide["nodes"] = 3;
  wide["count"] = 1;
  log("trials_added", "1",
      {{"limits", {{"max_nodes_in_flight", 8}, {"node_hours", 5}, {"max_retries", 1}}},
       {"shapes", {shape, wide}}});
  const SweepState& sweep = log.state.sweeps.at(1);
  EXPECT_EQ(sweep.phase, SweepPhase::active);
  EXPECT_TRUE(sweep.stopped.empty());
  EXPECT_EQ(sweep.open, 3);
  EXPECT_EQ(sweep.finished, 1) << "what has ended stays so";
  EXPECT_EQ(sweep.failed, 1);
  EXPECT_THAT(sweep.unstarted, ElementsAre(3, 4, 5));
  EXPECT_EQ(sweep.shape(5).nodes, 3);
  EXPECT_EQ(sweep.limits.node_hours, 5);
  EXPECT_EQ(sweep.first_shapes, 1u);
}

TEST(State, OnlyFinishedTrialsGoOnWhenTheyAreLengthened) {
  Log log;
  log.sweep("1", 2);
  log("trial_ended", "1.1", {{"state", "finished"}})("trial_ended", "1.2", {{"state", "failed"}});
  log("sweep_ended", "1", {{"state", "failed"}});
  const json data{{"train", "{}"}, {"hash", "h"}};
  log("lengthened", "1.2", data);
  EXPECT_EQ(log.state.sweeps.at(1).phase, SweepPhase::failed);
  log("lengthened", "1.1", data);
  const SweepState& sweep = log.state.sweeps.at(1);
  EXPECT_EQ(sweep.phase, SweepPhase::active);
  EXPECT_THAT(sweep.unstarted, ElementsAre(1));
  EXPECT_EQ(sweep.finished, 0);
  EXPECT_EQ(sweep.failed, 1);
}

TEST(State, ATrialThatHasStartedIsNotChosen) {
  Log log;
  log.sweep("1", 3, 1, {}, {{"initial", 1}, {"parallel", 1}, {"seeds", 1}});
  EXPECT_EQ(log.state.sweeps.at(1).configured, 1);
  const json data{{"parameters", "{}"}, {"train", "{}"}, {"hash", "h"}, {"reason", "r"}};
  log("chosen", "1.2", data);
  EXPECT_EQ(log.state.sweeps.at(1).configured, 2);
  log.running("1.2.1");
  EXPECT_THROW(log("chosen", "1.2", data), std::runtime_error);
}

TEST(State, ARemovedSweepIsForgotten) {
  Log log;
  log.sweep("1", 1).sweep("2", 1);
  EXPECT_THROW(log("removing", "1"), std::runtime_error) << "it has not ended";
  EXPECT_THROW(log("removed", "1"), std::runtime_error) << "nobody asked";
  log("trial_ended", "1.1", {{"state", "finished"}})("sweep_ended", "1", {{"state", "finished"}});
  log("removing", "1");
  EXPECT_TRUE(log.state.sweeps.at(1).removing);
  log("removed", "1");
  EXPECT_EQ(log.state.sweeps.count(1), 0u);
  EXPECT_EQ(log.state.sweeps.count(2), 1u);
}

TEST(State, RefusesWhatCannotFollow) {
  const struct {
    const char* why;
    std::function<void(Log&)> event;
  } table[] = {
      {"an unknown sweep", [](Log& log) { log.launching("9.1.1"); }},
      {"an unknown trial", [](Log& log) { log.launching("1.3.1"); }},
      {"a skipped attempt", [](Log& log) { log.launching("1.1.2"); }},
      {"a second live attempt", [](Log& log) { log.launching("1.2.2"); }},
      {"a handle for what is not live",
       [](Log& log) {
         log("recorded", "1.1.1", {{"handle", "x"}});
       }},
      {"an end twice", [](Log& log) { log.ended("1.2.1", "failed").ended("1.2.1", "failed"); }},
      {"the end of a live trial",
       [](Log& log) {
         log("trial_ended", "1.2", {{"state", "failed"}});
       }},
      {"the end of an open sweep",
       [](Log& log) {
         log("sweep_ended", "1", {{"state", "failed"}});
       }},
      {"a retry of an open trial", [](Log& log) { log("retry_requested", "1.1"); }},
      {"a sweep submitted twice", [](Log& log) { log.sweep("1", 1); }},
      {"a cause that is none", [](Log& log) { log.ended("1.2.1", "bored"); }},
      {"missing data", [](Log& log) { log("stopped", "1"); }},
  };
  for (const auto& row : table) {
    Log log;
    log.sweep("1", 2).running("1.2.1");
    EXPECT_THROW(row.event(log), std::runtime_error) << row.why;
  }
}

TEST(State, PassesOverKindsOfLaterVersions) {
  Log log;
  log.sweep("1", 1)("moon_phase", "1.1", {{"phase", "full"}});
  EXPECT_EQ(log.state.last_event, 2);
}

TEST(State, EqualFailuresHaveEqualKeys) {
  EXPECT_EQ(failure_key(EndCause::bad_input, "1.3.1: line 12: no lr"),
            failure_key(EndCause::bad_input, "1.14.2: line 9: no lr"));
  EXPECT_NE(failure_key(EndCause::bad_input, "x"), failure_key(EndCause::failed, "x"));
}

TEST(Resources, SurviveJson) {
  jobspec::SlurmOptions slurm;
  slurm.options = {{"partition", "main"}, {"exclusive", ""}, {"nice", "100"}, {"contiguous", ""}};
  slurm.setup = {"module load x"};
  slurm.srun = {"--cpu-bind=cores"};
  slurm.mpi = "pmix_v4";
  slurm.signal_before_end_s = 90;
  const auto back = slurm_from(json::parse(slurm_json(slurm).dump()));
  EXPECT_EQ(back.options, slurm.options);
  EXPECT_EQ(back.setup, slurm.setup);
  EXPECT_EQ(back.srun, slurm.srun);
  EXPECT_EQ(back.mpi, "pmix_v4");
  EXPECT_EQ(back.signal_before_end_s, 90);
  // As a controller of an earlier release wrote it.
  const json earlier{{"partition", "main"}, {"exclusive", true}, {"setup", json::array()}};
  EXPECT_EQ(slurm_from(earlier).options,
            (jobspec::SlurmRequest{{"partition", "main"}, {"exclusive", ""}}));
  EXPECT_TRUE(slurm_from(json{{"exclusive", false}}).options.empty());
  jobspec::Metric metric{"val/accuracy", jobspec::Goal::maximize, {0.9, 0.8}};
  const auto metric_back = metric_from(json::parse(metric_json(metric).dump()));
  EXPECT_EQ(metric_back.name, metric.name);
  EXPECT_EQ(metric_back.goal, metric.goal);
  EXPECT_EQ(metric_back.targets, metric.targets);
}

}  // namespace
}  // namespace thalweg::daemon
