// What messages take by the alpha-beta formula, and that each arrives whole, in order and once.
#include "engine/simulate/network.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "engine/comm/group.h"

namespace thalweg::engine::simulate {
namespace {

using std::chrono::milliseconds;

/// When rank `to` has got what each of `senders` sends it at once.
double arrival(std::vector<Link> links, const std::vector<int>& senders, int to,
               std::size_t bytes) {
  Scheduler scheduler;
  Network network(scheduler, std::move(links));
  std::vector<char> out(bytes, 'x');
  double last = 0;
  for (const int sender : senders)
    scheduler.start([&, sender] {
      const auto transport = network.transport(sender);
      EXPECT_EQ(transport->send(to, 7, out.data(), bytes), nullptr);
    });
  scheduler.start([&] {
    const auto transport = network.transport(to);
    for (const int sender : senders) {
      std::vector<char> in(bytes);
      transport->receive(sender, 7, in.data(), bytes)->wait();
      EXPECT_EQ(in, out);
    }
    last = scheduler.seconds();
  });
  EXPECT_TRUE(scheduler.run());
  return last;
}

TEST(Network, AMessageTakesAlphaAndItsBytesByBeta) {
  const Link fast{1e-3, 1e6}, slow{2e-3, 1e5};
  EXPECT_DOUBLE_EQ(arrival({fast, fast}, {0}, 1, 5000), 0.001 + 0.005);
  EXPECT_DOUBLE_EQ(arrival({fast, slow}, {0}, 1, 5000), 0.002 + 0.05);
  EXPECT_DOUBLE_EQ(arrival({slow, fast}, {0}, 1, 5000), 0.002 + 0.05);
  EXPECT_DOUBLE_EQ(arrival({fast, fast}, {0}, 1, 0), 0.001);
}

TEST(Network, AReceiverTakesOneAfterAnother) {
  const Link link{1e-3, 1e6};
  EXPECT_DOUBLE_EQ(arrival({link, link, link, link}, {0, 1, 2}, 3, 5000), 0.001 + 3 * 0.005);
}

TEST(Network, ASlowReceiverDoesNotHoldUpItsSender) {
  Scheduler scheduler;
  Network network(scheduler, {{0, 1e6}, {0, 1e3}, {0, 1e6}});
  const std::vector<char> out(1000, 'y');
  double slow = 0, fast = 0;
  scheduler.start([&] {
    const auto transport = network.transport(0);
    transport->send(1, 0, out.data(), out.size());
    transport->send(2, 0, out.data(), out.size());
  });
  const auto listen = [&](int rank, double& at) {
    scheduler.start([&, rank] {
      std::vector<char> in(out.size());
      network.transport(rank)->receive(0, 0, in.data(), in.size())->wait();
      at = scheduler.seconds();
    });
  };
  listen(1, slow);
  listen(2, fast);
  EXPECT_TRUE(scheduler.run());
  EXPECT_DOUBLE_EQ(slow, 1);
  EXPECT_DOUBLE_EQ(fast, 0.002);
}

TEST(Network, MessagesOfATagArriveInTheirOrderAlsoBeforeSomebodyWantsThem) {
  Scheduler scheduler;
  Network network(scheduler, std::vector<Link>(2, {1e-3, 1e6}));
  scheduler.start([&] {
    const auto transport = network.transport(0);
    for (const int number : {1, 2, 3})
      transport->send(1, 9, &number, sizeof number);
  });
  scheduler.start([&] {
    const auto transport = network.transport(1);
    threads::sleep_for(milliseconds(20));
    for (int expected = 1; expected <= 3; ++expected) {
      int number = 0;
      const auto request = transport->receive(0, 9, &number, sizeof number);
      EXPECT_TRUE(request->test());
      EXPECT_EQ(number, expected);
    }
  });
  EXPECT_TRUE(scheduler.run());
}

TEST(Network, AMessageOfAnotherLengthIsAnError) {
  Scheduler scheduler;
  Network network(scheduler, std::vector<Link>(2, {1e-3, 1e6}));
  scheduler.start([&] {
    const double number = 1;
    network.transport(0)->send(1, 9, &number, sizeof number);
  });
  scheduler.start([&] {
    int number = 0;
    network.transport(1)->receive(0, 9, &number, sizeof number)->wait();
  });
  EXPECT_THROW(scheduler.run(), comm::CommError);
}

/// Recursive doubling: every rank sends the whole vector log2(ranks) times.
TEST(Network, ACollectiveTakesWhatItsAlgorithmSays) {
  constexpr int kRanks = 8;
  constexpr std::size_t kFloats = 1000;
  Scheduler scheduler;
  Network network(scheduler, std::vector<Link>(kRanks, {1e-3, 1e6}));
  for (int rank = 0; rank < kRanks; ++rank)
    scheduler.start([&, rank] {
      comm::Group group(network.transport(rank));
      group.use_allreduce("recursive_doubling");
      std::vector<float> values(kFloats, static_cast<float>(rank));
      group.allreduce(values.data(), values.size(), comm::Type::f32, comm::Op::sum);
      EXPECT_EQ(values, std::vector<float>(kFloats, 28));
    });
  EXPECT_TRUE(scheduler.run());
  EXPECT_NEAR(scheduler.seconds(), 3 * (1e-3 + 4 * kFloats / 1e6), 1e-9);
}

}  // namespace
}  // namespace thalweg::engine::simulate
