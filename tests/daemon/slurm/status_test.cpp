#include "daemon/backend/slurm_status.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace thalweg::daemon {
namespace {

using nlohmann::json;

constexpr int exited(int code) {
  return code << 8;
}  // wait statuses

json facts_of(const std::string& state) {
  return {{"job", 17},      {"token", "t-1"},      {"name", "thalweg-1.2.1"},
          {"state", state}, {"reason", ""},        {"nodes", "n[1-2]"},
          {"held", false},  {"completing", false}, {"started", 1000},
          {"ended", 1010},  {"exit", 0},           {"steps_exit", 0}};
}

slurm_agent::JobFacts read(const json& facts) {
  return api::from_json<slurm_agent::JobFacts>(facts, api::Reading::strict);
}

slurm_agent::JobFacts job(const std::string& state, const json& changes = json::object()) {
  json facts = facts_of(state);
  facts.update(changes);
  return read(facts);
}

TEST(SlurmStatus, WaitingJobs) {
  const auto held = slurm_status(
      job("PENDING", {{"held", true}, {"reason", "JobHeldUser"}, {"nodes", ""}, {"started", 0}}));
  EXPECT_EQ(held.phase, JobPhase::held);
  EXPECT_EQ(held.handle, "17");
  EXPECT_EQ(held.token, "t-1");
  EXPECT_EQ(held.reason, "JobHeldUser");
  EXPECT_EQ(held.started, 0);
  EXPECT_FALSE(held.exit_code);
  EXPECT_EQ(slurm_status(job("PENDING", {{"reason", "Resources"}})).phase, JobPhase::queued);
  EXPECT_EQ(slurm_status(job("RUNNING", {{"eligible", 990}})).eligible, 990);
}

TEST(SlurmStatus, TellsHowManyNodesItGot) {
  EXPECT_EQ(slurm_status(job("RUNNING", {{"node_count", 2}})).nodes, 2);
  EXPECT_EQ(slurm_status(job("RUNNING")).nodes, 0) << "an agent of an earlier version";
  EXPECT_EQ(slurm_status(job("PENDING", {{"nodes", ""}, {"node_count", 8}})).nodes, 0)
      << "what it asks for is not what it got";
}

TEST(SlurmStatus, AReasonThatNeverClearsIsSaidAsSuch) {
  const auto reason = [](const char* name) {
    return slurm_status(job("PENDING", {{"reason", name}})).reason;
  };
  EXPECT_EQ(reason("BadConstraints"),
            "BadConstraints (no nodes have what is asked for: it can never start)");
  EXPECT_THAT(reason("PartitionNodeLimit"), testing::HasSubstr("cannot start unless"));
  EXPECT_THAT(reason("BadConstraints: n1 down"), testing::HasSubstr("can never start"));
  EXPECT_EQ(reason("Resources"), "Resources");
  EXPECT_EQ(slurm_status(job("RUNNING", {{"reason", "BadConstraints"}})).reason, "BadConstraints");
}

// Held again after its release: that was a person. Held as it was submitted: slurmctld, killed,
// forgot the release.
TEST(SlurmStatus, AHoldByHandIsToldFromAForgottenRelease) {
  const json held{{"held", true}, {"reason", "JobHeldUser"}, {"nodes", ""}, {"started", 0}};
  EXPECT_FALSE(slurm_status(job("PENDING", held)).held_by_hand);
  json released = held;
  released["released"] = true;
  const auto by_hand = slurm_status(job("PENDING", released));
  EXPECT_TRUE(by_hand.held_by_hand);
  EXPECT_EQ(by_hand.reason, "held by hand: JobHeldUser");
  released["held"] = false;
  EXPECT_FALSE(slurm_status(job("PENDING", released)).held_by_hand);
}

TEST(SlurmStatus, OnlyALostNodeMayStillRunItsRanks) {
  EXPECT_TRUE(slurm_status(job("NODE_FAIL")).may_go_on);
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "PREEMPTED"})
    EXPECT_FALSE(slurm_status(job(state)).may_go_on) << state;
}

TEST(SlurmStatus, RunningJobs) {
  const auto running = slurm_status(job("RUNNING", {{"ended", 0}}));
  EXPECT_EQ(running.phase, JobPhase::running);
  EXPECT_EQ(running.node_list, "n[1-2]");
  EXPECT_EQ(running.started, 1000);
  EXPECT_EQ(running.ended, 0);
}

TEST(SlurmStatus, NothingUncertainIsAnEnd) {
  for (const char* state : {"SUSPENDED", "STATE 77", "NEW_WORD"}) {
    EXPECT_EQ(slurm_status(job(state)).phase, JobPhase::running) << state;
  }
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}) {
    EXPECT_EQ(slurm_status(job(state, {{"completing", true}})).phase, JobPhase::running) << state;
  }
}

struct EndRow {
  const char* state;
  int exit, steps_exit;
  std::optional<int> code;
  int signal;
  bool cancelled, timed_out, node_failed;
  const char* reason;
};

TEST(SlurmStatus, Ends) {
  constexpr auto none = std::nullopt;
  const EndRow rows[] = {
      {"COMPLETED", 0, 0, 0, 0, false, false, false, "completed"},
      {"COMPLETED", 0, exited(7), 7, 0, false, false, false,
       "completed"},  // a script that hides srun's failure
      {"FAILED", exited(75), exited(75), 75, 0, false, false, false, "failed"},
      {"FAILED", exited(2), 0, 2, 0, false, false, false, "failed"},  // before any rank
      {"FAILED", exited(137), 9, none, 9, false, false, false, "failed"},
      {"FAILED", exited(139), exited(139), none, 11, false, false, false,
       "failed"},  // srun's way of saying SIGSEGV
      {"FAILED", exited(15) | 53, 0, none, 0, false, false, false,
       "failed"},  // Slurm's own, no signal
      {"CANCELLED", 15, 0, none, 15, true, false, false, "cancelled in Slurm"},
      {"CANCELLED", exited(75), exited(75), 75, 0, true, false, false, "cancelled in Slurm"},
      {"TIMEOUT", 0, 15, none, 0, false, true, false, "time limit reached"},
      {"DEADLINE", 0, 0, none, 0, false, true, false, "deadline reached"},
      {"NODE_FAIL", 0, 0, none, 0, false, false, true, "a node failed"},
      {"BOOT_FAIL", 0, 0, none, 0, false, false, true, "a node failed to boot"},
      {"PREEMPTED", 0, 15, none, 0, false, false, true, "preempted by another job"},
      {"OUT_OF_MEMORY", exited(137), 9, none, 9, false, false, false, "out of memory"},
  };
  for (const EndRow& row : rows) {
    SCOPED_TRACE(std::string(row.state) + " " + std::to_string(row.exit) + " " +
                 std::to_string(row.steps_exit));
    const auto status =
        slurm_status(job(row.state, {{"exit", row.exit}, {"steps_exit", row.steps_exit}}));
    EXPECT_EQ(status.phase, JobPhase::ended);
    EXPECT_EQ(status.ended, 1010);
    EXPECT_EQ(status.exit_code, row.code);
    EXPECT_EQ(status.signal, row.signal);
    EXPECT_EQ(status.cancelled, row.cancelled);
    EXPECT_EQ(status.timed_out, row.timed_out);
    EXPECT_EQ(status.node_failed, row.node_failed);
    EXPECT_EQ(status.reason, row.reason);
  }
}

TEST(SlurmStatus, CancelledBeforeItStartedHasNoExit) {
  const auto status = slurm_status(job("CANCELLED", {{"nodes", ""}}));
  EXPECT_TRUE(status.cancelled);
  EXPECT_EQ(status.started, 0);
  EXPECT_FALSE(status.exit_code);
}

TEST(SlurmStatus, ReasonIsKeptWhereItSaysMore) {
  EXPECT_EQ(slurm_status(job("FAILED", {{"reason", "NonZeroExitCode"}})).reason, "failed");
  EXPECT_EQ(slurm_status(job("FAILED", {{"reason", "JobLaunchFailure"}})).reason,
            "failed (JobLaunchFailure)");
}

TEST(SlurmStatus, MissingMembersThrow) {
  json facts = facts_of("FAILED");
  facts.erase("exit");
  EXPECT_THROW(read(facts), std::invalid_argument);
}

}  // namespace
}  // namespace thalweg::daemon
