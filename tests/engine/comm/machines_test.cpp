// Ranks as processes on every kind of path that vectors can take: what differs between one machine
// and several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/comm/ranks.h"

namespace {

using testing::HasSubstr;
using thalweg::test::launch;
using thalweg::test::Network;
using thalweg::test::RunOptions;

struct Path {
  const char* name;
  Network network;
  const char* sockets;  ///< THALWEG_SOCKETS
};

class Paths : public testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    if (!over_hosts()) return;
    const auto check = thalweg::test::run({thalweg::test::netns(), "check"});
    if (check.code == 77) GTEST_SKIP() << check.out;
    ASSERT_EQ(0, check.code) << check.out << check.err;
  }
  static bool over_hosts() {
    return GetParam().network == Network::hosts || GetParam().network == Network::two_hosts;
  }
  static int machines(int ranks) {
    if (!over_hosts()) return 1;
    return GetParam().network == Network::hosts ? ranks : std::min(ranks, 2);
  }
  static thalweg::test::Outcome launch_here(int ranks, const char* mode) {
    RunOptions options;
    options.env["THALWEG_SOCKETS"] = GetParam().sockets;
    return launch(ranks, {mode}, {}, GetParam().network, options);
  }
};

TEST_P(Paths, AdasumAddsAndAverages) {
  for (const int ranks : {2, 4, 8}) {
    if (ranks == 8 && GetParam().network == Network::hosts) continue;
    const auto outcome = launch_here(ranks, "adasum");
    EXPECT_EQ(0, outcome.code) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(std::to_string(machines(ranks)) + " machines, 2 forms"));
  }
}

TEST_P(Paths, EveryCollectiveGivesTheRightNumbers) {
  const int ranks = 5;
  const auto outcome = launch_here(ranks, "collectives");
  EXPECT_EQ(0, outcome.code) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("rank 4 of 5"));
}

INSTANTIATE_TEST_SUITE_P(Over, Paths,
                         testing::Values(Path{"shared_memory", Network::machine, "auto"},
                                         Path{"sockets_on_a_machine", Network::loopback, "always"},
                                         Path{"sockets_between_hosts", Network::hosts, "auto"},
                                         Path{"ucx_between_hosts", Network::hosts, "never"},
                                         Path{"two_hosts", Network::two_hosts, "auto"},
                                         Path{"two_hosts_by_ucx", Network::two_hosts, "never"}),
                         [](const auto& given) { return given.param.name; });

}  // namespace
