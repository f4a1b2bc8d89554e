// A rank that is killed, stops or leaves in the middle of a collective, at random moments: all
// others say who it was, nobody hangs, nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "engine/comm/algorithms/table.h"
#include "tests/engine/comm/ranks.h"
#include "tests/support/process.h"

namespace {

namespace fs = std::filesystem;
using namespace thalweg::engine::comm;
using testing::HasSubstr;
using thalweg::test::failure_reports;
using thalweg::test::Network;
using thalweg::test::Outcome;

struct What {
  std::string operation;
  std::string algorithm;
  Needs needs = Needs::nothing;
};

/// Every row of every collective that such a network has a use for, and what has no table.
std::vector<What> everything(Network network) {
  const bool hosts = network == Network::hosts;
  std::vector<What> all;
  for (int c = 0; c <= static_cast<int>(Collective::barrier); ++c) {
    const auto collective = static_cast<Collective>(c);
    all.push_back({name_of(collective), "auto"});
    for (const Row& row : rows_of(collective)) {
      if (row.needs == Needs::machines && !hosts) continue;
      if (row.needs == Needs::shared_memory && hosts) continue;
      all.push_back({name_of(collective), row.name, row.needs});
    }
  }
  for (const char* operation : {"shard_sum", "allreduce_as", "adasum", "split", "allocate"}) {
    const bool power = std::string(operation) == "adasum";
    all.push_back({operation, "auto", power ? Needs::power_of_two : Needs::nothing});
  }
  return all;
}

struct Moment {
  What what;
  std::string how = std::to_string(SIGKILL);
  std::string style = "blocking";
  std::size_t bytes = 4096;
  int ranks = 3;
  int victim = 1;
  long delay_us = 5000;
  long stall_ms = 60000;
  Network network = Network::machine;

  std::vector<std::string> arguments() const {
    return {what.operation,           what.algorithm,
            std::to_string(bytes),    style,
            std::to_string(victim),   how,
            std::to_string(delay_us), std::to_string(stall_ms)};
  }
  std::string text() const {
    std::string all = std::to_string(ranks) + " ranks:";
    for (const auto& word : arguments()) {
      all += " " + word;
    }
    return all;
  }
};

/// THALWEG_TEST_SEED, or another one each time.
unsigned seed() {
  const char* given = std::getenv("THALWEG_TEST_SEED");
  return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
}

std::set<std::string> pids(const std::string& out) {
  static const std::regex kLine(R"(rank \d+ has pid (\d+))");
  std::set<std::string> found;
  for (std::sregex_iterator at(out.begin(), out.end(), kLine), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

std::set<std::string> files_in_memory() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator("/dev/shm")) {
    names.insert(entry.path());
  }
  return names;
}

/// Nothing of these processes is left: no process, no System V memory.
void expect_nothing_left(const std::set<std::string>& processes) {
  for (const auto& pid : processes) {
    EXPECT_FALSE(fs::exists("/proc/" + pid)) << pid;
  }
  std::ifstream table("/proc/sysvipc/shm");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string key, id, perms, size, creator;
    words >> key >> id >> perms >> size >> creator;
    EXPECT_FALSE(processes.contains(creator)) << line;
  }
}

Outcome launch(const Moment& moment, const std::vector<std::string>& options = {}) {
  return thalweg::test::launch_program(VICTIM_PROGRAM, moment.ranks, moment.arguments(), options,
                                       moment.network);
}

/// Everybody but the victim names it, within the promised time after that moment.
void expect_named(const Moment& moment, const Outcome& outcome, long promised_ms = 5000) {
  EXPECT_FALSE(outcome.timed_out);
  std::set<int> told;
  for (const auto& report : failure_reports(outcome.out)) {
    if (report.by == moment.victim) continue;
    told.insert(report.by);
    EXPECT_EQ(moment.victim, report.whom);
    EXPECT_THAT(report.words, HasSubstr("rank " + std::to_string(moment.victim) + " on node "));
    EXPECT_LT(report.after_ms, moment.delay_us / 1000 + promised_ms);  // not a measurement
  }
  EXPECT_EQ(static_cast<std::size_t>(moment.ranks) - 1, told.size());
  // Hosts have a pid namespace of their own, which ends with them.
  const bool ours = moment.network == Network::machine || moment.network == Network::loopback;
  if (ours) expect_nothing_left(pids(outcome.out));
}

/// Whether there can be network namespaces here; says why not.
bool hosts_can_be_had() {
  const auto check = thalweg::test::run({thalweg::test::netns(), "check"});
  EXPECT_TRUE(check.code == 0 || check.code == 77) << check.out << check.err;
  std::fputs(check.out.c_str(), stdout);
  return check.code == 0;
}

class Kill : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    if (GetParam() == Network::hosts && !hosts_can_be_had()) GTEST_SKIP();
  }
};

TEST_P(Kill, AtAnyMomentOfAnyCollectiveIsNamedByAllOthers) {
  const unsigned number = seed();
  std::mt19937 random(number);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::size_t kSizes[] = {4, 1024, 64 << 10, 1 << 20, 16 << 20};
  constexpr const char* kStyles[] = {"blocking", "started", "allocated"};
  // Over all networks more than fifty moments; each row of each table comes up at least once.
  std::vector<What> whats = everything(GetParam());
  std::shuffle(whats.begin(), whats.end(), random);
  std::stable_partition(whats.begin(), whats.end(),
                        [&](const What& what) { return what.needs == Needs::machines; });
  const std::size_t moments =
      GetParam() == Network::machine ? std::max<std::size_t>(26, whats.size()) : 16;
  const auto files = files_in_memory();
  for (std::size_t i = 0; i < moments; ++i) {
    Moment moment;
    moment.what = whats[i % whats.size()];
    moment.network = moment.what.needs == Needs::machines ? Network::two_hosts : GetParam();
    moment.style = kStyles[pick(std::size(kStyles))];
    moment.bytes = kSizes[pick(std::size(kSizes))];
    moment.ranks = 2 + static_cast<int>(pick(3));
    if (moment.what.needs == Needs::power_of_two && moment.ranks == 3) moment.ranks = 4;
    if (moment.what.needs == Needs::machines) moment.ranks = 4;
    moment.victim = static_cast<int>(pick(static_cast<std::size_t>(moment.ranks)));
    moment.delay_us = static_cast<long>(pick(20000));
    const auto outcome = launch(moment);
    SCOPED_TRACE("seed " + std::to_string(number) + ", " + moment.text() + "\n" + outcome.out +
                 outcome.err);
    EXPECT_EQ(128 + SIGKILL, outcome.code);
    expect_named(moment, outcome);
  }
  EXPECT_TRUE(thalweg::test::eventually([&] {
    for (const auto& name : files_in_memory()) {
      if (!files.contains(name)) return false;
    }
    return true;
  })) << "something new stays in /dev/shm";
}

TEST_P(Kill, AStoppedRankIsNamedAfterTheStallTime) {
  const unsigned number = seed();
  std::mt19937 random(number);
  const auto whats = everything(GetParam());
  for (int round = 0; round < 3; ++round) {
    Moment moment;
    moment.network = GetParam();
    do {
      moment.what = whats[random() % whats.size()];
    } while (moment.what.needs == Needs::power_of_two || moment.what.needs == Needs::machines);
    moment.how = std::to_string(SIGSTOP);
    moment.bytes = 4U << (4 * (random() % 6));
    moment.delay_us = static_cast<long>(random() % 20000);
    // A rank that works answers within a part of it, also where other tests have both cores.
    moment.stall_ms = thalweg::test::slowed(thalweg::test::milliseconds(2000)).count();
    const auto outcome = launch(moment, {"--grace", thalweg::test::slowed_s(0.5)});
    SCOPED_TRACE("seed " + std::to_string(number) + ", " + moment.text() + "\n" + outcome.out +
                 outcome.err);
    // The stall time passes in wall time, however much less slow the machine becomes meanwhile.
    expect_named(moment, outcome, moment.stall_ms + 3000);
    for (const auto& report : failure_reports(outcome.out)) {
      if (report.by == moment.victim) continue;  // it wakes up among the dead
      EXPECT_THAT(report.words, HasSubstr("does not answer"));
    }
  }
}

TEST_P(Kill, ARankThatLeavesEarlyIsNamedToo) {
  for (const char* how : {"exit", "exception"}) {
    Moment moment;
    moment.network = GetParam();
    moment.what = {"allreduce", "auto"};
    moment.how = how;
    const auto outcome = launch(moment);
    SCOPED_TRACE(moment.text() + "\n" + outcome.out + outcome.err);
    expect_named(moment, outcome);
    EXPECT_NE(0, outcome.code);
    if (std::string(how) == "exception") {
      EXPECT_THAT(outcome.err, HasSubstr("a mistake of the program"));
    }
  }
}

TEST(SilentNetwork, TheRankBehindItIsNamedAfterTheStallTime) {
  if (!hosts_can_be_had()) GTEST_SKIP();
  for (const char* collective : {"allreduce", "broadcast", "barrier"}) {
    Moment moment;
    moment.network = Network::hosts;
    moment.what = {collective, "auto"};
    moment.how = "unplug";
    moment.bytes = 1 << 20;
    moment.stall_ms = thalweg::test::slowed(thalweg::test::milliseconds(1000)).count();
    const auto outcome = launch(moment, {"--grace", thalweg::test::slowed_s(0.5)});
    SCOPED_TRACE(moment.text() + "\n" + outcome.out + outcome.err);
    expect_named(moment, outcome, moment.stall_ms + 4000);
  }
}

TEST(Interrupt, InTheMiddleOfACollectiveLeavesNothingBehind) {
  for (const bool ignored : {false, true}) {
    SCOPED_TRACE(ignored ? "ranks ignore INT and TERM: Ctrl-C twice, then the grace"
                         : "Ctrl-C once");
    const thalweg::test::TempDir dir;
    const std::string mark = "KILL_TEST=" + dir.path().string();
    thalweg::test::RunOptions options;
    options.env["KILL_TEST"] = dir.path().string();
    options.env["TMPDIR"] = dir.path().string();
    const std::string ranks = std::string(ignored ? "trap '' INT; " : "") + "exec " +
                              VICTIM_PROGRAM + " allreduce auto 4194304 started -1 0 0 60000 > " +
                              dir.path().string() + "/up.$PMIX_RANK";
    const auto files = files_in_memory();
    const pid_t launcher = thalweg::test::start(
        {"thalweg-launch", "-n", "3", "--grace", "0.3", "--", "sh", "-c", ranks}, options);
    ASSERT_TRUE(thalweg::test::all_work(dir.path() / "up", 3));
    std::set<std::string> processes;
    for (const pid_t pid : thalweg::test::processes_with_environment(mark)) {
      processes.insert(std::to_string(pid));
    }
    EXPECT_GE(processes.size(), 4U);
    kill(launcher, SIGINT);
    int status = 0;
    // Again until it is heard: two signals that wait for the launcher together are one.
    ASSERT_TRUE(thalweg::test::eventually(
        [&] {
          thalweg::test::sleep_for(thalweg::test::milliseconds(100));
          if (ignored) kill(launcher, SIGINT);
          return waitpid(launcher, &status, WNOHANG) == launcher;
        },
        thalweg::test::milliseconds(60000)));
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(ignored ? 128 + SIGKILL : 128 + SIGINT, WEXITSTATUS(status));
    processes.erase(std::to_string(launcher));
    expect_nothing_left(processes);
    EXPECT_THAT(thalweg::test::processes_with_environment(mark), testing::IsEmpty());
    for (const auto& entry : fs::directory_iterator(dir.path())) {
      EXPECT_THAT(entry.path().filename().string(), testing::StartsWith("up."));
    }
    EXPECT_TRUE(thalweg::test::eventually([&] {
      for (const auto& name : files_in_memory()) {
        if (!files.contains(name)) return false;
      }
      return true;
    }));
  }
}

std::string name_of_network(const testing::TestParamInfo<Network>& given) {
  switch (given.param) {
    case Network::machine:
      return "machine";
    case Network::loopback:
      return "loopback";
    default:
      return "hosts";
  }
}
INSTANTIATE_TEST_SUITE_P(Over, Kill,
                         testing::Values(Network::machine, Network::loopback, Network::hosts),
                         name_of_network);

}  // namespace
