// Modes whose numbers depend on the clock, on simulated ranks: each run is the replay of what
// it has recorded, one thing after another, without ranks or clock.
#include <gtest/gtest.h>

#include "engine/simulate/network.h"
#include "engine/simulate/scheduler.h"
#include "engine/sync/emulate.h"
#include "engine/sync/pass_time.h"
#include "tests/engine/sync/arrivals.h"
#include "tests/engine/sync/rounds.h"

namespace thalweg::engine::simulate {
namespace {

using jobspec::Map;
using test::Case;

void run_simulated(int ranks, const std::function<void(comm::Group& group)>& body) {
  Scheduler scheduler;
  Network network(scheduler, std::vector<Link>(static_cast<std::size_t>(ranks), {1e-4, 1e7}));
  for (int rank = 0; rank < ranks; ++rank)
    scheduler.start([&, rank] {
      comm::Group group(network.transport(rank));
      body(group);
    });
  scheduler.run();
}

class SimulatedModes : public testing::Test {
 protected:
  SimulatedModes() {
    test::play_ranks_by(run_simulated);
    emulation_.slowdown = {3, 1, 1.5};
    emulation_.jitter = 0.2;
  }
  ~SimulatedModes() override { test::play_ranks_by({}); }

  Case timed(Case c) {
    const std::size_t parameters = parameters_of(c);
    pass_time_ = {1e-3, std::vector<double>(parameters, 0.8)};
    c.pass_time = &pass_time_;
    c.emulation = &emulation_;
    return c;
  }

 private:
  static std::size_t parameters_of(const Case& c) {
    std::size_t count = 0;
    run_simulated(1, [&](comm::Group& group) {
      Case alone = c;
      alone.firsts.clear();
      count = test::TestRank(alone, group, 1).model->parameters().size();
    });
    return count;
  }
  Emulation emulation_;
  PassTime pass_time_;
};

TEST_F(SimulatedModes, AbsIsTheReplayOfItsPasses) {
  for (const char* optimizer : {"momentum", "adam"}) {
    const Case c = timed(test::rounds::abs_case(optimizer, 0, 30));
    const auto found = test::rounds::run(c, 4);
    ASSERT_EQ(found.rounds.size(), 30u);
    int most = 0;
    for (const Round& round : found.rounds)
      most = std::max(most, *std::max_element(round.passes.begin(), round.passes.end()));
    EXPECT_GT(most, 1) << "fast ranks make more passes than slow ones";
    EXPECT_EQ(found.curve, test::rounds::replay(c, found)) << optimizer;
    EXPECT_EQ(test::rounds::passes_of(found.rounds),
              test::rounds::passes_of(test::rounds::run(c, 4).rounds))
        << "the same each time";
  }
}

TEST_F(SimulatedModes, ServersAreTheReplayOfTheirArrivals) {
  for (const int groups : {2, 4}) {
    Case c = test::batch_norm_and_dropout();
    c.optimizer = Map{{"name", "momentum"}};
    c.sync = Map{{"mode", "hybrid"}, {"groups", groups}};
    c.steps = 12;
    c.noise_every = 0;
    c = timed(c);
    const test::Trace found = test::run(c, 4);
    for (const auto& order : found.arrivals)
      ASSERT_EQ(order.size(), static_cast<std::size_t>(groups * c.steps))
          << "G updates of each layer in each step";
    EXPECT_EQ(found.parameters[0], test::replay(c, found.arrivals, groups, false)) << groups;
  }
}

TEST_F(SimulatedModes, ServersApartAreTheReplayOfTheirArrivals) {
  for (const int groups : {1, 2, 4}) {
    Case c = test::batch_norm_and_dropout();
    c.optimizer = Map{{"name", "momentum"}};
    c.sync = Map{{"mode", "hybrid"}, {"groups", groups}};
    c.steps = 12;
    c.noise_every = 0;
    c = timed(test::with_servers(c, 6, 2));
    const test::Trace found = test::run(c, 6);
    for (std::size_t rank = 0; rank < 6; ++rank)
      ASSERT_EQ(found.arrivals[rank].size(),
                rank < 4 ? 0 : static_cast<std::size_t>(groups * c.steps));
    EXPECT_EQ(found.parameters[0], test::replay(c, found.arrivals, groups, false, 2)) << groups;
  }
}

}  // namespace
}  // namespace thalweg::engine::simulate
