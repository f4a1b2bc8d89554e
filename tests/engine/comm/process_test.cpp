// UCX and PMIx between real processes, started by thalweg-launch; ranks that die or stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "tests/engine/comm/ranks.h"
#include "tests/support/process.h"

namespace {

using testing::HasSubstr;
using thalweg::test::failure_reports;
using thalweg::test::launch;
using thalweg::test::milliseconds;
using thalweg::test::slowed;
using thalweg::test::slowed_ms;
using thalweg::test::slowed_s;

const std::string kProgram = RANK_PROGRAM;

class Processes : public testing::TestWithParam<int> {};

TEST_P(Processes, EveryCollectiveGivesTheRightNumbers) {
  const auto outcome = launch(GetParam(), {"collectives"});
  EXPECT_EQ(0, outcome.code) << outcome.err;
  for (int r = 0; r < GetParam(); ++r) {
    const std::string n = std::to_string(GetParam());
    EXPECT_THAT(outcome.out, HasSubstr("rank " + std::to_string(r) + " of " + n + ", local " +
                                       std::to_string(r) + " of " + n));
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Processes, testing::Values(1, 2, 3, 4, 5, 6),
                         testing::PrintToStringParamName());

TEST(ProcessGroup, WithoutALauncherThereIsAWorldOfOne) {
  const auto outcome = thalweg::test::run({kProgram, "collectives"});
  EXPECT_EQ(0, outcome.code) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("rank 0 of 1, local 0 of 1"));
}

TEST(ProcessGroup, ASlurmStepWithoutPmixIsRefused) {
  thalweg::test::RunOptions options;
  options.env["SLURM_STEP_NUM_TASKS"] = "2";
  const auto outcome = thalweg::test::run({kProgram, "hello"}, options);
  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("srun --mpi=pmix"));
}

TEST(ProcessGroup, ShardSumHasTheSameBitsForEveryRankCount) {
  for (const int shards : {4, 6}) {
    const auto one = launch(1, {"shard_sum", std::to_string(shards)});
    ASSERT_EQ(0, one.code) << one.err;
    EXPECT_EQ(17U, one.out.size());
    for (const int ranks : {2, 3, 4}) {
      const auto outcome = launch(ranks, {"shard_sum", std::to_string(shards)});
      EXPECT_EQ(0, outcome.code) << outcome.err;
      EXPECT_EQ(one.out, outcome.out) << shards << " shards on " << ranks << " ranks";
    }
  }
}

TEST(ProcessGroup, TellsByWhichTransportsRanksReachEachOther) {
  EXPECT_EQ("", launch(1, {"routes"}).out);
  thalweg::test::RunOptions shared;
  shared.env["UCX_TLS"] = "posix";
  EXPECT_THAT(launch(3, {"routes"}, {}, thalweg::test::Network::machine, shared).out,
              testing::StartsWith("UCX (posix/memory"));
  thalweg::test::RunOptions tcp;
  tcp.env["UCX_TLS"] = "tcp";
  EXPECT_THAT(launch(2, {"routes"}, {}, thalweg::test::Network::machine, tcp).out,
              testing::StartsWith("UCX (tcp/"));
}

TEST(ProcessGroup, RanksThatFinishAtDifferentTimesPartInPeace) {
  for (int round = 0; round < 5; ++round) {
    const auto outcome = launch(4, {"farewell"});
    EXPECT_EQ(0, outcome.code) << outcome.err;
    EXPECT_EQ("", outcome.err);
  }
}

std::vector<std::string> pids(const std::string& out) {
  static const std::regex kLine(R"(pid (\d+))");
  std::vector<std::string> found;
  for (std::sregex_iterator at(out.begin(), out.end(), kLine), end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

/// Segments of System V memory that one of these processes created.
int segments_of(const std::vector<std::string>& processes) {
  std::ifstream table("/proc/sysvipc/shm");
  int found = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string key, id, perms, size, creator;
    words >> key >> id >> perms >> size >> creator;
    found += std::count(processes.begin(), processes.end(), creator) > 0;
  }
  return found;
}

std::set<std::string> files_in_memory() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().starts_with("ucx")) names.insert(entry.path());
  }
  return names;
}

TEST(ProcessGroup, RanksOfOneMachineReachEachOthersMemoryAndLeaveNothingBehind) {
  const auto before = files_in_memory();
  const auto outcome = launch(3, {"shared_memory"});
  EXPECT_EQ(0, outcome.code) << outcome.err;
  EXPECT_EQ(3U, pids(outcome.out).size());
  const auto killed = launch(3, {"shared_memory", "die"});
  EXPECT_NE(0, killed.code);
  const auto dead = pids(killed.out);
  EXPECT_GE(dead.size(), 1U);
  EXPECT_EQ(0, segments_of(dead));
  for (const auto& name : files_in_memory()) {
    EXPECT_TRUE(before.contains(name)) << name;
  }
}

TEST(ProcessGroup, ARankKilledAtAnyMomentIsNamedByAllOthers) {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 8; ++round) {
    const int ranks = 2 + round % 3;
    const int victim = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const long delay = static_cast<long>(random() % 200);
    const auto outcome = launch(ranks, {"victim", std::to_string(victim), std::to_string(SIGKILL),
                                        std::to_string(delay), "60000"});
    SCOPED_TRACE(std::to_string(ranks) + " ranks, rank " + std::to_string(victim) +
                 " killed after " + std::to_string(delay) + " ms\n" + outcome.out + outcome.err);
    EXPECT_EQ(128 + SIGKILL, outcome.code);
    EXPECT_THAT(outcome.err, HasSubstr("rank " + std::to_string(victim) + " (pid "));
    const auto all = failure_reports(outcome.out);
    EXPECT_EQ(static_cast<std::size_t>(ranks) - 1, all.size());
    for (const auto& report : all) {
      EXPECT_EQ(victim, report.whom);
      EXPECT_LT(report.after_ms, delay + 5000);  // the promise, not a measurement
    }
  }
}

TEST(ProcessGroup, AStoppedRankIsNamedAfterTheStallTime) {
  const auto outcome = launch(3, {"victim", "1", std::to_string(SIGSTOP), "100", slowed_ms(600)},
                              {"--grace", slowed_s(0.5)});
  SCOPED_TRACE(outcome.out + outcome.err);
  const auto all = failure_reports(outcome.out);
  ASSERT_GE(all.size(), 2U);
  for (const auto& report : all) {
    EXPECT_EQ(1, report.whom);
    EXPECT_THAT(report.words, HasSubstr("rank 1 on node"));  // rank 1 itself is told so later
    EXPECT_THAT(report.words, HasSubstr("does not answer"));
  }
}

TEST(ProcessGroup, RandomProgramsGiveTheRightNumbers) {
  using thalweg::test::Network;
  std::random_device random;
  for (const auto network : {Network::machine, Network::loopback}) {
    for (const int ranks : {2, 3, 5}) {
      const std::string seed = std::to_string(random());
      const auto outcome = launch(ranks, {"fuzz", seed, "4"}, {}, network);
      EXPECT_EQ(0, outcome.code) << "seed " << seed << ", " << ranks << " ranks\n" << outcome.err;
    }
  }
}

TEST(ProcessGroup, WorksWhereThereIsHardlyAnySharedMemory) {
  struct Place {
    const char* what;
    const char* prepare;
  };
  for (const Place place : {
           Place{"no System V memory", "echo 0 > /proc/sys/kernel/shmall"},
           Place{"few System V segments", "echo 4 > /proc/sys/kernel/shmmni"},
           Place{"a tiny /dev/shm", "mount -t tmpfs -o size=64k tmpfs /dev/shm"},
           Place{"a small /dev/shm only",
                 "echo 0 > /proc/sys/kernel/shmall && "
                 "mount -t tmpfs -o size=9m tmpfs /dev/shm"},
           Place{"neither",
                 "echo 0 > /proc/sys/kernel/shmall && "
                 "mount -t tmpfs -o size=64k tmpfs /dev/shm"},
       }) {
    const std::string command = std::string(place.prepare) +
                                " || exit 77; thalweg-launch -n 3 -- " + kProgram + " collectives";
    const auto outcome = thalweg::test::run({"unshare", "--mount", "--ipc", "sh", "-c", command});
    if (outcome.code == 77 || outcome.err.starts_with("unshare: ")) {
      GTEST_SKIP() << "no namespaces of mounts and IPC here: " << outcome.err;
    }
    EXPECT_EQ(0, outcome.code) << place.what << ": " << outcome.err;
  }
}

TEST(ProcessGroup, SaysWhatIsScarceWhereUcxCannotStart) {
  thalweg::test::RunOptions options;
  options.env["UCX_TLS"] = "rc";  // InfiniBand only
  const auto outcome = launch(2, {"hello"}, {}, thalweg::test::Network::machine, options);
  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("UCX cannot start: No such device; UCX_TLS is rc; "
                                     "/dev/shm has "));
}

TEST(ProcessGroup, NobodyWaitsForEverForARankThatStopsOutsideOfCollectives) {
  for (const char* what : {"start", "fence", "finalize"}) {
    SCOPED_TRACE(what);
    const long limit = slowed(milliseconds(700)).count();
    const auto outcome =
        launch(3, {"missing", what, std::to_string(limit)}, {"--grace", slowed_s(0.5)});
    const std::string said =
        std::to_string(limit / 1000) + "." + std::to_string(limit / 100 % 10) + " s";
    EXPECT_FALSE(outcome.timed_out);
    EXPECT_NE(0, outcome.code);
    const std::string all = outcome.out + outcome.err;
    if (std::string(what) == "start") {
      EXPECT_THAT(all, HasSubstr("not all of 3 ranks have started within " + said));
    } else {
      static const std::regex kWaited(R"(1: waited (\d+)\.(\d) s for all ranks )");
      std::smatch waited;
      ASSERT_TRUE(std::regex_search(all, waited, kWaited)) << all;
      EXPECT_GE(1000 * std::stol(waited[1]) + 100 * std::stol(waited[2]), limit / 100 * 100);
      EXPECT_THAT(all, HasSubstr(": rank 1 on node "));
      EXPECT_THAT(all, HasSubstr(" does not answer"));
    }
  }
}

TEST(ProcessGroup, TheEnvironmentTurnsCheckedModeOn) {
  thalweg::test::RunOptions options;
  options.env["THALWEG_COMM_CHECK"] = "1";
  const auto outcome = launch(3, {"disagree"}, {}, thalweg::test::Network::machine, options);
  EXPECT_EQ(9, outcome.code) << outcome.err;
  static const std::regex kWords(
      "(rank 1 on node \\S+ calls broadcast of 400 bytes from 1 where the others call allreduce of "
      "100 f32 \\(sum\\).*\n){3}");
  EXPECT_TRUE(std::regex_match(outcome.out, kWords)) << outcome.out;
}

TEST(ProcessGroup, ARankThatLeavesBeforeTheEndKeepsNobodyWaiting) {
  const auto outcome = launch(3, {"deserter"});
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(3, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("rank 0 (pid "));
  EXPECT_THAT(outcome.err, HasSubstr("exited with code 3"));
}

}  // namespace
