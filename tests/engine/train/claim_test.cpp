// Who may run an attempt, and who is told that it may not any more.
#include "engine/attempt/claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "base/machine.h"
#include "engine/attempt/fence.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using testing::HasSubstr;

class Claim : public testing::Test {
 protected:
  void SetUp() override {
    trial_.token = "0123";
    unsetenv("SLURM_JOB_ID");
  }
  void TearDown() override { unsetenv("SLURM_JOB_ID"); }

  void claim() { claim_attempt(trial_, folder_.path()); }
  /// Empty where the claim succeeds.
  std::string refusal() {
    try {
      claim();
      return "";
    } catch (const Superseded& error) {
      return error.what();
    }
  }
  jobspec::Value claimed() { return jobspec::read_yaml(test::read_file(file()), "claim"); }
  void claimed_by(const std::string& host, long pid, const std::string& job) {
    jobspec::Value other = claimed();
    other.set("host", host);
    other.set("pid", std::int64_t{pid});
    other.set("job", job);
    test::write_file(file(), other.to_json());
  }
  void journal(const std::string& type) {
    test::write_file(folder_.path() / "journal.jsonl",
                     "{\"n\":1,\"t\":1,\"type\":\"" + type + "\"}\n");
  }
  std::filesystem::path file() const { return folder_.path() / "claim"; }

  test::TempDir folder_;
  jobspec::Trial trial_;
};

TEST_F(Claim, SaysWhoHoldsTheAttempt) {
  setenv("SLURM_JOB_ID", "17", 1);
  claim();
  const jobspec::Value claim = claimed();
  EXPECT_EQ(claim.find("job")->as_string(), "17");
  EXPECT_EQ(claim.find("pid")->as_int(), getpid());
  EXPECT_FALSE(claim.find("host")->as_string().empty());
  EXPECT_FALSE(claim.find("start")->as_string().empty());
}

TEST_F(Claim, ASecondStartIsRefusedUntilTheFirstHasEnded) {
  claim();
  claimed_by("elsewhere", 1, "17");
  const std::string before = test::read_file(file());
  EXPECT_THAT(refusal(), HasSubstr("in Slurm job 17, on elsewhere has not ended"));
  journal("metrics");
  EXPECT_NE(refusal(), "");
  EXPECT_EQ(test::read_file(file()), before);
  journal("end");
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(claimed().find("pid")->as_int(), getpid());
}

TEST_F(Claim, SlurmMayStartAnAttemptOnceOnly) {
  setenv("SLURM_JOB_ID", "17", 1);
  claim();
  journal("end");
  EXPECT_THAT(refusal(), HasSubstr("has started this attempt before, in the same job 17"));
  setenv("SLURM_JOB_ID", "18", 1);
  EXPECT_EQ(refusal(), "") << "by hand, in an allocation of its own";
  setenv("SLURM_JOB_ID", "18", 1);
  trial_.token.clear();
  EXPECT_EQ(refusal(), "") << "no attempt of a controller";
}

TEST_F(Claim, AStartThatWasKilledOnThisMachineHoldsNothing) {
  claim();
  const std::string host = claimed().find("host")->as_string();
  const pid_t other = test::start({"sleep", "100"});
  claimed_by(host, other, "");
  // The kernel counts start times in hundredths of a second: this test's own process may have the
  // same.
  jobspec::Value earlier = claimed();
  earlier.set("start_time", process_start_time(other).value() - 1);
  test::write_file(file(), earlier.to_json());
  EXPECT_EQ(refusal(), "") << "another process has its number: it started at another time";
  kill(other, SIGKILL);
}

TEST_F(Claim, AnAttemptThatWasGivenUpIsNotStarted) {
  EXPECT_EQ(standing_of(folder_.path()), Standing::ours);
  test::write_file(folder_.path() / fence_name, "{}");
  EXPECT_EQ(standing_of(folder_.path()), Standing::fenced);
  EXPECT_THAT(refusal(), HasSubstr("given this attempt up"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_EQ(standing_of(folder_.path() / "nowhere"), Standing::gone);
}

TEST(TrainFence, HeardOrSeenItAsksForAStopAndThenLeaves) {
  for (const bool seen : {true, false}) {
    const test::TempDir folder;
    const auto heard = std::make_shared<StopFlag>();
    std::atomic<bool> left = false;
    Fence fence(folder.path(), heard, [&] { left = true; });
    EXPECT_FALSE(fence.flag().requested());
    if (seen)
      test::write_file(folder.path() / fence_name, "{}");
    else
      heard->request();
    EXPECT_TRUE(test::eventually([&] { return fence.flag().requested(); }));
    EXPECT_FALSE(left) << "the ranks have their time";
    if (seen) continue;  // seconds that need to be waited for once only
    EXPECT_TRUE(test::eventually([&] { return left.load(); }));
  }
}

TEST(TrainFence, ASecondStartWritesNothingOnAnyRank) {
  const test::TempDir folder;
  jobspec::Trial trial = tiny_trial();
  trial.token = "0123";
  setenv("SLURM_JOB_ID", "17", 1);
  run_to_end(trial, folder.path(), 2);
  const std::string journal = test::read_file(folder.path() / "journal.jsonl");
  const StopFlag never;
  for (const RankEnd& end : run_ranks(trial, folder.path(), 2, never)) {
    EXPECT_TRUE(end.threw);
    EXPECT_EQ(end.failure.code, ExitCode::superseded);
  }
  unsetenv("SLURM_JOB_ID");
  EXPECT_EQ(test::read_file(folder.path() / "journal.jsonl"), journal);
}

}  // namespace
}  // namespace thalweg::engine
