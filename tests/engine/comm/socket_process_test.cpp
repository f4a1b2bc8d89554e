// Ranks whose messages go over our own sockets: on the loopback, and between network namespaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <random>

#include "tests/engine/comm/ranks.h"
#include "tests/support/process.h"

namespace {

using testing::HasSubstr;
using thalweg::test::failure_reports;
using thalweg::test::launch;
using thalweg::test::Network;
using thalweg::test::RunOptions;

class SocketRanks : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    if (GetParam() != Network::hosts) return;
    const auto check = thalweg::test::run({thalweg::test::netns(), "check"});
    if (check.code == 77) GTEST_SKIP() << check.out;
    ASSERT_EQ(0, check.code) << check.out << check.err;
  }
};

TEST_P(SocketRanks, GetTheRightNumbersFromEveryCollective) {
  for (const int ranks : {2, 3, 4}) {
    const auto outcome = launch(ranks, {"collectives"}, {}, GetParam());
    EXPECT_EQ(0, outcome.code) << outcome.out << outcome.err;
    for (int r = 0; r < ranks; ++r) {
      EXPECT_THAT(outcome.out,
                  HasSubstr("rank " + std::to_string(r) + " of " + std::to_string(ranks)));
    }
    const auto hash = launch(ranks, {"shard_sum", "6"}, {}, GetParam());
    EXPECT_EQ(launch(1, {"shard_sum", "6"}).out, hash.out) << hash.err;
  }
}

TEST_P(SocketRanks, SayThatTheyUseSockets) {
  EXPECT_EQ("sockets\n", launch(2, {"routes"}, {}, GetParam()).out);
}

TEST_P(SocketRanks, MayHaveSeveralStreams) {
  RunOptions options;
  options.env["THALWEG_SOCKET_STREAMS"] = "3";
  const auto outcome = launch(3, {"collectives"}, {}, GetParam(), options);
  EXPECT_EQ(0, outcome.code) << outcome.out << outcome.err;
}

TEST_P(SocketRanks, ReallyUseSocketsAndCloseThem) {
  RunOptions without;
  without.env["THALWEG_SOCKETS"] = "never";
  const auto network = GetParam() == Network::hosts ? Network::hosts : Network::machine;
  int before = 0;
  int after = 0;
  int ours = 0;
  int ours_after = 0;
  const auto ucx = launch(3, {"sockets"}, {}, network, without);
  ASSERT_EQ(2, std::sscanf(ucx.out.c_str(), "%d then %d", &before, &after)) << ucx.err;
  const auto outcome = launch(3, {"sockets"}, {}, GetParam());
  ASSERT_EQ(2, std::sscanf(outcome.out.c_str(), "%d then %d", &ours, &ours_after)) << outcome.err;
  EXPECT_EQ(before + 2, ours);
  EXPECT_EQ(after, ours_after);
}

TEST_P(SocketRanks, PartInPeace) {
  for (int round = 0; round < 3; ++round) {
    const auto outcome = launch(4, {"farewell"}, {}, GetParam());
    EXPECT_EQ(0, outcome.code) << outcome.err;
    EXPECT_EQ("", outcome.err);
  }
}

TEST_P(SocketRanks, NameTheOneThatWasKilled) {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 6; ++round) {
    const int ranks = 2 + round % 3;
    const int victim = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const long delay = static_cast<long>(random() % 200);
    const auto outcome = launch(
        ranks,
        {"victim", std::to_string(victim), std::to_string(SIGKILL), std::to_string(delay), "60000"},
        {}, GetParam());
    SCOPED_TRACE(std::to_string(ranks) + " ranks, rank " + std::to_string(victim) +
                 " killed after " + std::to_string(delay) + " ms\n" + outcome.out + outcome.err);
    EXPECT_EQ(128 + SIGKILL, outcome.code);
    const auto all = failure_reports(outcome.out);
    EXPECT_EQ(static_cast<std::size_t>(ranks) - 1, all.size());
    for (const auto& report : all) {
      EXPECT_EQ(victim, report.whom);
      EXPECT_LT(report.after_ms, delay + 5000);  // the promise, not a measurement
    }
  }
}

TEST_P(SocketRanks, NameTheOneThatStopped) {
  const auto outcome =
      launch(3, {"victim", "1", std::to_string(SIGSTOP), "100", thalweg::test::slowed_ms(600)},
             {"--grace", thalweg::test::slowed_s(0.5)}, GetParam());
  SCOPED_TRACE(outcome.out + outcome.err);
  const auto all = failure_reports(outcome.out);
  ASSERT_GE(all.size(), 2U);
  for (const auto& report : all) {
    EXPECT_EQ(1, report.whom);
    EXPECT_THAT(report.words, HasSubstr("does not answer"));
  }
}

TEST_P(SocketRanks, SayThatLengthsDiffer) {
  const auto outcome = launch(2, {"mismatch"}, {}, GetParam());
  EXPECT_NE(0, outcome.code);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("rank 0 sent [0-9]+ bytes where rank 1 expects [0-9]+: the "
                                     "ranks call different operations or lengths"));
}

INSTANTIATE_TEST_SUITE_P(Over, SocketRanks, testing::Values(Network::loopback, Network::hosts),
                         [](const auto& given) {
                           return given.param == Network::hosts ? "hosts" : "loopback";
                         });

TEST(SocketSettingsOfAPerson, ThatMakeNoSenseAreRefused) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"THALWEG_SOCKETS", "perhaps"},
           {"THALWEG_SOCKET_STREAMS", "0"},
           {"THALWEG_SOCKET_STREAMS", "many"},
       }) {
    RunOptions options;
    options.env[name] = value;
    const auto outcome = launch(2, {"hello"}, {}, Network::machine, options);
    EXPECT_EQ(1, outcome.code);
    EXPECT_THAT(outcome.err, HasSubstr(name));
  }
  RunOptions options;
  options.env["THALWEG_SOCKET_CONGESTION"] = "nosuch";
  const auto outcome = launch(2, {"hello"}, {}, Network::loopback, options);
  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("the kernel does not allow 'nosuch'"));
}

}  // namespace
