// thalweg-launch as a program: exit codes, signals, records, and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "base/machine.h"
#include "tests/support/process.h"
#include "tests/support/small_disk.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;
using thalweg::test::eventually;
using thalweg::test::Outcome;
using thalweg::test::RunOptions;

class LaunchTest : public testing::Test {
 protected:
  LaunchTest() {
    fs::create_directory(tmp());
    fs::create_directory(folder());
    options_.env["TMPDIR"] = tmp().string();
    options_.env["LAUNCH_TEST"] = mark();
  }

  ~LaunchTest() override {
    EXPECT_TRUE(fs::is_empty(tmp())) << "the rendezvous folder was left behind";
    EXPECT_THAT(thalweg::test::processes_with_environment("LAUNCH_TEST=" + mark()),
                testing::IsEmpty())
        << "processes were left behind";
  }

  fs::path tmp() const { return dir_.path() / "tmp"; }
  fs::path folder() const { return dir_.path() / "attempt"; }
  std::string mark() const { return dir_.path().string(); }

  std::vector<std::string> command(std::vector<std::string> options,
                                   const std::string& script) const {
    std::vector<std::string> all{"thalweg-launch"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return all;
  }
  Outcome launch(std::vector<std::string> options, const std::string& script) const {
    return thalweg::test::run(command(std::move(options), script), options_);
  }
  pid_t start(std::vector<std::string> options, const std::string& script) const {
    return thalweg::test::start(command(std::move(options), script), options_);
  }
  static int wait_for(pid_t pid) {
    int status = 0;
    const bool ended = eventually([&] { return waitpid(pid, &status, WNOHANG) == pid; });
    EXPECT_TRUE(ended) << "thalweg-launch does not end";
    if (!ended) kill(pid, SIGKILL), waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  Json record(const std::string& name) const {
    return Json::parse(thalweg::test::read_file(folder() / name));
  }
  /// Every rank writes "up.RANK" once its traps stand.
  bool all_up(int ranks) const {
    return eventually([&] {
      for (int r = 0; r < ranks; ++r) {
        if (!fs::exists(folder() / ("up." + std::to_string(r)))) return false;
      }
      return true;
    });
  }
  std::string up() const { return "touch " + (folder() / "up.${PMIX_RANK:-0}").string() + "; "; }

  thalweg::test::TempDir dir_;
  RunOptions options_;
};

TEST_F(LaunchTest, RanksKnowTheirNumbersAndRunTheCommand) {
  const auto outcome = launch({"-n", "3"}, "echo rank $PMIX_RANK");
  EXPECT_EQ(0, outcome.code) << outcome.err;
  for (const char* line : {"rank 0\n", "rank 1\n", "rank 2\n"}) {
    EXPECT_THAT(outcome.out, HasSubstr(line));
  }
  EXPECT_EQ("", outcome.err);
}

TEST_F(LaunchTest, ARankThatExitsBadlyIsNamedAndTheOthersEnd) {
  const auto outcome =
      launch({"-n", "3", "--folder", folder().string(), "--token", "t-1"},
             up() + "if [ $PMIX_RANK = 1 ]; then while [ ! -e " + (folder() / "up.2").string() +
                 " ]; do sleep 0.02; done; exit 7; fi; sleep 300");
  EXPECT_EQ(7, outcome.code);
  EXPECT_TRUE(std::regex_search(outcome.err,
                                std::regex(R"(rank 1 \(pid \d+\) on host \S+ exited with code 7)")))
      << outcome.err;
  const auto failure = record("failure.launch.json");
  EXPECT_EQ(1, failure["rank"]);
  EXPECT_EQ(7, failure["code"]);
  EXPECT_EQ(0, failure["signal"]);
  const auto end = record("exit.json");
  EXPECT_EQ("t-1", end["token"]);
  EXPECT_EQ(7, end["code"]);
  EXPECT_EQ(1, end["rank"]);
}

TEST_F(LaunchTest, AKilledRankIsNamedWithItsSignal) {
  const auto outcome = launch({"-n", "2", "--folder", folder().string()},
                              "if [ $PMIX_RANK = 1 ]; then kill -9 $$; fi; sleep 300");
  EXPECT_EQ(128 + SIGKILL, outcome.code);
  EXPECT_TRUE(std::regex_search(
      outcome.err,
      std::regex(R"(rank 1 \(pid \d+\) on host \S+ was killed by signal 9 \(Killed\))")))
      << outcome.err;
  EXPECT_EQ(9, record("exit.json")["signal"]);
  EXPECT_EQ(thalweg::host_name(), record("failure.launch.json")["node"]);
}

// Its files are closed before it can be waited for: the other rank may be the first that has ended.
TEST_F(LaunchTest, AKilledRankIsNamedAndNotOneThatSawItsEnd) {
  const std::string pipe = (dir_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (int round = 0; round < 20; ++round) {
    const auto outcome = launch(
        {"-n", "2"}, "if [ $PMIX_RANK = 1 ]; then exec 3> " + pipe +
                         "; kill -9 $$; fi; while read -r line; do :; done < " + pipe + "; exit 9");
    EXPECT_EQ(128 + SIGKILL, outcome.code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 (pid "));
  }
}

TEST_F(LaunchTest, StoppedOnRequestIs75OnlyIfNobodyFailed) {
  EXPECT_EQ(75, launch({"-n", "2"}, "exit 75").code);
  EXPECT_EQ(75, launch({"-n", "2"}, "exit $((75 * PMIX_RANK))").code);
  EXPECT_EQ(4, launch({"-n", "2"}, "[ $PMIX_RANK = 1 ] && exit 4; exit 75").code);
}

TEST_F(LaunchTest, SignalsGoOnToEveryRank) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) {
    for (int r = 0; r < 2; ++r) {
      fs::remove(folder() / ("up." + std::to_string(r)));
    }
    const std::string name = std::to_string(signal);
    const pid_t pid =
        start({"-n", "2"}, "trap 'exit 75' " + name + "; " + up() + "while :; do sleep 0.05; done");
    ASSERT_TRUE(all_up(2));
    kill(pid, signal);
    EXPECT_EQ(75, wait_for(pid)) << "signal " << signal;
  }
}

TEST_F(LaunchTest, ARankThatIgnoresTermIsKilledAfterTheGrace) {
  const auto outcome =
      launch({"-n", "2", "--grace", "0.3"},
             "trap '' TERM; " + up() + "if [ $PMIX_RANK = 0 ]; then while [ ! -e " +
                 (folder() / "up.1").string() +
                 " ]; do sleep 0.02; done; exit 3; fi; while :; do sleep 0.05; done");
  EXPECT_EQ(3, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("killing what did not end in time"));
}

TEST_F(LaunchTest, ATimeLimitStopsInGoodOrderOrCutsOff) {
  EXPECT_EQ(75, launch({"-n", "2", "--timeout", thalweg::test::slowed_s(0.5)},
                       "trap 'exit 75' TERM; while :; do sleep 0.05; done")
                    .code);
  const auto outcome = launch({"-n", "2", "--timeout", thalweg::test::slowed_s(0.3), "--grace",
                               thalweg::test::slowed_s(0.2)},
                              "trap '' TERM; while :; do sleep 0.05; done");
  EXPECT_EQ(124, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("time limit"));
}

TEST_F(LaunchTest, RanksAreWarnedBeforeTheTimeLimit) {
  // The warning comes when the ranks have had time to begin, the limit never.
  const double begun = 0.5 * thalweg::test::slowdown();
  const std::vector<std::string> limit{
      "--timeout", std::to_string(600 + begun), "--warning", "600", "--folder", folder().string()};
  EXPECT_EQ(75, launch(limit, "trap 'exit 75' USR1; while :; do sleep 0.05; done").code);
  EXPECT_EQ(true, record("exit.json")["timed_out"]);
}

TEST_F(LaunchTest, StoppedOnRequestIsNotTimedOut) {
  EXPECT_EQ(75, launch({"--timeout", "100", "--folder", folder().string()}, "exit 75").code);
  EXPECT_EQ(false, record("exit.json")["timed_out"]);
}

TEST_F(LaunchTest, AControllersProgramMayBeAwayForAMoment) {
  const fs::path program = tmp().parent_path() / "engine";
  const pid_t pid = thalweg::test::start({"thalweg-launch", "--folder", folder().string(),
                                          "--token", "0123456789", "--", program.string()},
                                         options_);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  thalweg::test::write_file(program, "#!/bin/sh\nexit 5\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  fs::permissions(program, fs::perms::owner_all);
  EXPECT_EQ(5, wait_for(pid));
}

TEST_F(LaunchTest, ACommandThatDoesNotExist) {
  const auto outcome = thalweg::test::run(
      {"thalweg-launch", "-n", "2", "--folder", folder().string(), "no-such-program"}, options_);
  EXPECT_EQ(127, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("cannot run 'no-such-program': No such file or directory"));
  EXPECT_EQ(127, record("exit.json")["code"]);
  EXPECT_THAT(record("failure.launch.json")["message"].get<std::string>(),
              HasSubstr("no-such-program"));
}

TEST_F(LaunchTest, ACommandThatCannotBeRun) {
  const fs::path file = dir_.path() / "not-executable";
  thalweg::test::write_file(file, "echo no\n");
  const auto outcome = thalweg::test::run({"thalweg-launch", file.string()}, options_);
  EXPECT_EQ(126, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("Permission denied"));
}

TEST_F(LaunchTest, ABadCommandLineIsRefused) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "no command"},
      {{"-n", "2"}, "no command"},
      {{"-n", "0", "true"}, "-n takes a number from 1"},
      {{"-n", "two", "true"}, "not 'two'"},
      {{"-n"}, "needs a value"},
      {{"--wrong", "true"}, "unknown option --wrong"},
      {{"--no-bind=1", "true"}, "takes no value"},
      {{"--timeout", "-1", "true"}, "--timeout takes a number"},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> all{"thalweg-launch"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto outcome = thalweg::test::run(all, options_);
    EXPECT_EQ(2, outcome.code);
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
}

TEST_F(LaunchTest, HelpShowsEveryOptionAndAnExample) {
  const auto outcome = thalweg::test::run({"thalweg-launch", "--help"}, options_);
  EXPECT_EQ(0, outcome.code);
  for (const char* text :
       {"--ranks", "--folder", "--token", "--timeout", "--warning", "--grace", "Example:"}) {
    EXPECT_THAT(outcome.out, HasSubstr(text));
  }
}

TEST_F(LaunchTest, ASingleRankGetsNoServerNorThatOfAnOuterStep) {
  const std::string script = "env | grep ^PMIX_ || echo none";
  options_.env["PMIX_NAMESPACE"] = "outer";
  EXPECT_EQ("none\n", launch({}, script).out);
  EXPECT_THAT(launch({"-n", "2"}, script).out,
              testing::AllOf(HasSubstr("PMIX_RANK=1"), testing::Not(HasSubstr("outer"))));
  options_.env["SLURM_STEP_NUM_TASKS"] = "2";  // one of its own then
  EXPECT_THAT(launch({}, script).out,
              testing::AllOf(HasSubstr("PMIX_RANK=0"), testing::Not(HasSubstr("outer"))));
}

TEST_F(LaunchTest, AFolderIsClaimedOnceOnly) {
  std::vector<std::thread> threads;
  std::vector<int> codes(6, -1);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    threads.emplace_back([&, i] {
      codes[i] = launch({"--folder", folder().string(), "--token", std::to_string(i)},
                        "echo ran >> " + (folder() / "ran").string())
                     .code;
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(1, std::count(codes.begin(), codes.end(), 0));
  EXPECT_EQ(5, std::count(codes.begin(), codes.end(), 73));
  EXPECT_EQ("ran\n", thalweg::test::read_file(folder() / "ran"));
  const auto winner = std::find(codes.begin(), codes.end(), 0) - codes.begin();
  EXPECT_EQ(std::to_string(winner), record("launch.json")["token"]);
  EXPECT_EQ(std::to_string(winner), record("exit.json")["token"]);
}

TEST_F(LaunchTest, AVoidClaimRunsNothingAndWritesNothing) {
  thalweg::test::write_file(folder() / "launch.json", "{\"void\": true}\n");
  const auto outcome = launch({"--folder", folder().string()}, "echo ran");
  EXPECT_EQ(73, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_FALSE(fs::exists(folder() / "exit.json"));
  EXPECT_EQ("{\"void\": true}\n", thalweg::test::read_file(folder() / "launch.json"));
}

TEST_F(LaunchTest, TheClaimTellsWhichProcessHoldsIt) {
  const pid_t pid = start({"-n", "2", "--folder", folder().string(), "--token", "abc"},
                          "trap 'exit 0' TERM; " + up() + "while :; do sleep 0.05; done");
  ASSERT_TRUE(all_up(2));
  const auto claim = record("launch.json");
  EXPECT_EQ(pid, claim["pid"]);
  EXPECT_EQ(thalweg::process_start_time(pid), claim["start"].get<std::int64_t>());
  EXPECT_EQ("abc", claim["token"]);
  EXPECT_EQ(2, claim["ranks"]);
  EXPECT_EQ(36U, claim["boot_id"].get<std::string>().size());
  EXPECT_FALSE(fs::exists(folder() / "exit.json"));
  kill(pid, SIGTERM);
  EXPECT_EQ(0, wait_for(pid));
  EXPECT_EQ(0, record("exit.json")["code"]);
  EXPECT_EQ(-1, record("exit.json")["rank"]);
}

TEST_F(LaunchTest, AFullDiskIsWaitedForAndTheEndIsToldThen) {
  if (!thalweg::test::can_have_small_disks()) GTEST_SKIP() << "mounting needs root";
  const fs::path said = dir_.path() / "said", copy = dir_.path() / "exit.json";
  const std::string rank = thalweg::test::fill(folder()) + "; exit 3";
  const pid_t pid = thalweg::test::start(
      thalweg::test::with_small_disk(
          folder(), std::string(THALWEG_BIN_DIR) + "/thalweg-launch -n 1 --folder " +
                        folder().string() + " --token t -- sh -c '" + rank + "' 2> " +
                        said.string() + "; code=$?; cp " + (folder() / "exit.json").string() + " " +
                        copy.string() + "; exit $code"),
      options_);
  EXPECT_TRUE(eventually([&] {
    return fs::exists(said) &&
           thalweg::test::read_file(said).find("waiting for room") != std::string::npos;
  })) << "it ended instead";
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0);
  fs::remove(thalweg::test::seen_by(pid, folder() / "fill"));
  EXPECT_EQ(wait_for(pid), 3);
  EXPECT_EQ(3, Json::parse(thalweg::test::read_file(copy))["code"]);
}

TEST_F(LaunchTest, WhatRanksLeaveBehindIsEndedToo) {
  // One stays in the rank's process group, one leaves it; the destructor looks for both.
  EXPECT_EQ(0, launch({"-n", "2"}, "sleep 300 & setsid sleep 300 & exit 0").code);
}

TEST_F(LaunchTest, AKilledLauncherTakesItsRanksAlongAndTheNextOneCleansUp) {
  const pid_t pid = start({"-n", "2"}, up() + "sleep 300");
  ASSERT_TRUE(all_up(2));
  kill(pid, SIGKILL);
  EXPECT_EQ(128 + SIGKILL, wait_for(pid));
  EXPECT_FALSE(fs::is_empty(tmp()));
  EXPECT_EQ(0, launch({}, "true").code);
  EXPECT_TRUE(fs::is_empty(tmp()));
  // The kernel ends the ranks with the launcher, but not a rank's own children.
  for (const pid_t left : thalweg::test::processes_with_environment("LAUNCH_TEST=" + mark())) {
    EXPECT_THAT(thalweg::test::command_line(left), HasSubstr("sleep"));
    kill(left, SIGKILL);
  }
  EXPECT_TRUE(eventually(
      [&] { return thalweg::test::processes_with_environment("LAUNCH_TEST=" + mark()).empty(); }));
}

TEST_F(LaunchTest, ALivingLaunchersFolderIsLeftAlone) {
  const pid_t pid =
      start({"-n", "1"}, "trap 'exit 0' TERM; " + up() + "while :; do sleep 0.05; done");
  ASSERT_TRUE(all_up(1));
  for (const auto& entry : fs::directory_iterator(tmp())) {
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  EXPECT_EQ(0, launch({}, "true").code);
  EXPECT_FALSE(fs::is_empty(tmp()));
  kill(pid, SIGTERM);
  EXPECT_EQ(0, wait_for(pid));
}

TEST_F(LaunchTest, AFolderOfALivingLauncherThatHasNoLockYetIsLeftAlone) {
  const pid_t pid =
      start({"-n", "1"}, "trap 'exit 0' TERM; " + up() + "while :; do sleep 0.05; done");
  ASSERT_TRUE(all_up(1));
  const fs::path living = fs::directory_iterator(tmp())->path();
  fs::remove(living / "lock");
  EXPECT_EQ(0, launch({}, "true").code);
  EXPECT_TRUE(fs::exists(living));
  kill(pid, SIGTERM);
  EXPECT_EQ(0, wait_for(pid));
}

TEST_F(LaunchTest, FoldersOfOtherPidNamespacesGoByAgeWhereNobodyLocksThem) {
  const fs::path old = tmp() / "thalweg-launch-00000000-1-1-abcdef",
                 young = tmp() / "thalweg-launch-00000000-2-2-abcdef";
  fs::create_directory(old);
  fs::create_directory(young);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(0, launch({}, "true").code);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  fs::remove(young);
}

TEST_F(LaunchTest, ThreadsAndCoresAreDivided) {
  const auto set = launch({"-n", "2", "--threads", "3"}, "echo threads $OMP_NUM_THREADS");
  EXPECT_EQ("threads 3\nthreads 3\n", set.out);
  const std::string count = "env -u OMP_NUM_THREADS nproc";
  const int cores = std::stoi(launch({"--no-bind"}, count).out);
  std::string all_cores;
  for (int r = 0; r <= cores; ++r) {
    all_cores += std::to_string(cores) + "\n";
  }
  EXPECT_EQ(all_cores, launch({"-n", std::to_string(cores + 1)}, count).out)
      << "more ranks than cores: no binding";
  if (cores < 2) GTEST_SKIP() << "one core cannot be divided";
  const auto halves = launch({"-n", "2", "--threads", "1"}, "taskset -cp $$ | sed 's/.*: //'");
  const auto middle = halves.out.find('\n');
  EXPECT_NE(halves.out.substr(0, middle + 1), halves.out.substr(middle + 1));
}

TEST_F(LaunchTest, InputGoesToRankZeroOnly) {
  const auto outcome = thalweg::test::run(
      {"sh", "-c", "echo hello | thalweg-launch -n 2 -- sh -c 'echo $PMIX_RANK:$(cat)'"}, options_);
  EXPECT_THAT(outcome.out, HasSubstr("0:hello\n"));
  EXPECT_THAT(outcome.out, HasSubstr("1:\n"));
}

TEST_F(LaunchTest, SixteenLaunchesAtOnceDoNotMeet) {
  std::vector<std::thread> threads;
  std::vector<Outcome> outcomes(16);
  for (auto& outcome : outcomes) {
    threads.emplace_back([&] {
      outcome =
          thalweg::test::run({"thalweg-launch", "-n", "2", "--", RANK_PROGRAM, "hello"}, options_);
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(0, outcome.code) << outcome.err;
    EXPECT_EQ(2, std::count(outcome.out.begin(), outcome.out.end(), '\n'));
  }
}

TEST(Records, AZombieHasEnded) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(0, waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT));
  EXPECT_FALSE(thalweg::process_start_time(pid));
  waitpid(pid, nullptr, 0);
}

TEST(Records, StartTicksOfAProcessThatIsNotThere) {
  EXPECT_GT(thalweg::process_start_time(getpid()).value_or(0), 0);
  EXPECT_FALSE(thalweg::process_start_time(1 << 30));
}

}  // namespace
