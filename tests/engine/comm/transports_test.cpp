// Each transport by itself, without the others and without UCX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/group.h"
#include "engine/comm/transport/shared/transport.h"
#include "engine/comm/transport/single.h"
#include "engine/comm/transport/socket/transport.h"
#include "tests/engine/comm/throwing_host.h"
#include "tests/support/memory_transport.h"

namespace {

using namespace thalweg::engine::comm;
using testing::HasSubstr;

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

std::vector<int> numbers(std::size_t count, int first) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

template <class T>
std::size_t bytes_of(const std::vector<T>& v) {
  return v.size() * sizeof(T);
}

TEST(SingleRank, IsAGroupWithoutMessages) {
  auto transport = single_rank_transport("here");
  EXPECT_THROW((void)transport->send(0, 0, nullptr, 0), std::logic_error);
  Group group(std::move(transport));
  EXPECT_EQ(1, group.size());
  EXPECT_EQ("here", group.node_of(0));
  std::vector<float> vector{1, 2, 3};
  group.allreduce(vector.data(), vector.size(), Type::f32, Op::average);
  float* leaves[] = {vector.data()};
  group.start_shard_sum(leaves, vector.size(), 1)->wait();
  group.broadcast(vector.data(), bytes_of(vector), 0);
  group.barrier();
  EXPECT_EQ((std::vector<float>{1, 2, 3}), vector);
  const auto memory = group.allocate(100);
  EXPECT_EQ(100U, memory->bytes());
  const auto part = group.split(0, 0);
  EXPECT_EQ(1, part->size());
}

/// Two ranks over the loopback.
class SocketTransports : public testing::Test {
 protected:
  void SetUp() override {
    SocketSettings settings;
    settings.use = SocketSettings::Use::always;
    for (auto& side : sides_)
      side = std::make_unique<SocketTransport>(host_, settings);
    const std::vector<std::string> places{sides_[0]->place(), sides_[1]->place()};
    const std::vector<std::string> machines{"one", "one"};
    std::thread other([&] { sides_[1]->connect(1, places, machines, [] {}); });
    sides_[0]->connect(0, places, machines, [] {});
    other.join();
  }

  void finish(const std::vector<Request*>& requests) {
    for (Request* request : requests)
      while (request && !request->test()) {
        sides_[0]->progress();
        sides_[1]->progress();
      }
  }

  ThrowingHost host_;
  std::unique_ptr<SocketTransport> sides_[2];
};

TEST_F(SocketTransports, CarryMessagesBothWays) {
  ASSERT_TRUE(sides_[0]->reaches(1));
  EXPECT_FALSE(sides_[0]->reaches(0));
  EXPECT_FALSE(sides_[0]->supports(MessageMemory::cuda));
  for (const std::size_t count : {1U, 100U, 1000000U}) {
    const auto there = numbers(count, 1);
    const auto back = numbers(count, -7);
    std::vector<int> in(count);
    std::vector<int> in_back(count);
    const auto before = sides_[1]->completed();
    const auto a = sides_[1]->receive(0, 5, in.data(), bytes_of(in));
    const auto b = sides_[0]->receive(1, 5, in_back.data(), bytes_of(in_back));
    const auto c = sides_[0]->send(1, 5, there.data(), bytes_of(there));
    const auto d = sides_[1]->send(0, 5, back.data(), bytes_of(back));
    finish({a.get(), b.get(), c.get(), d.get()});
    EXPECT_EQ(there, in);
    EXPECT_EQ(back, in_back);
    EXPECT_GT(sides_[1]->completed(), before);
  }
  EXPECT_FALSE(sides_[0]->active());
}

TEST_F(SocketTransports, TellTheHostThatAPeerIsGone) {
  sides_[1]->close();
  int in = 0;
  const auto request = sides_[0]->receive(1, 5, &in, sizeof in);
  EXPECT_THAT(error_of([&] { finish({request.get()}); }), HasSubstr("lost 1: its connection is"));
}

/// Two "processes", which are this one, with threads' messages between them.
class SharedTransports : public testing::Test {
 protected:
  void SetUp() override {
    for (int r = 0; r < 2; ++r) {
      sides_[r] = std::make_unique<SharedTransport>(
          host_, *carriers_[static_cast<std::size_t>(r)],
          [this](int peer, std::uint32_t number) { sides_[peer]->taken(number); });
      sides_[r]->connect({::getpid(), ::getpid()});
    }
  }
  void progress(int side) {
    carriers_[static_cast<std::size_t>(side)]->progress();
    sides_[side]->progress();
  }

  ThrowingHost host_;
  std::vector<std::unique_ptr<Transport>> carriers_ = memory_transports(2);
  std::unique_ptr<SharedTransport> sides_[2];
};

TEST_F(SharedTransports, ReadTheSendersMemoryOnce) {
  auto out = numbers(50000, 3);
  std::vector<int> in(out.size());
  const auto send = sides_[0]->send(1, 9, out.data(), bytes_of(out));
  EXPECT_TRUE(sides_[0]->sending());
  progress(0);
  EXPECT_FALSE(send->test()) << "nobody has read it";
  out[0] = 17;  // still the sender's: there is no other copy
  const auto receive = sides_[1]->receive(0, 9, in.data(), bytes_of(in));
  progress(1);
  EXPECT_TRUE(receive->test());
  EXPECT_TRUE(send->test());
  EXPECT_EQ(out, in);
  EXPECT_EQ(1U, sides_[0]->completed());
}

TEST_F(SharedTransports, OfAnotherLengthAreRefused) {
  const auto out = numbers(50000, 3);
  std::vector<int> in(out.size() - 1);
  const auto send = sides_[0]->send(1, 9, out.data(), bytes_of(out));
  const auto receive = sides_[1]->receive(0, 9, in.data(), bytes_of(in));
  EXPECT_EQ("rank 0 sent 200000, expected 199996", error_of([&] { progress(1); }));
  EXPECT_FALSE(send->test());
}

TEST_F(SharedTransports, FromAProcessThatHasEndedAreALoss) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(child, ::waitpid(child, nullptr, 0));
  sides_[1]->connect({child, ::getpid()});
  const auto out = numbers(50000, 3);
  std::vector<int> in(out.size());
  const auto send = sides_[0]->send(1, 9, out.data(), bytes_of(out));
  const auto receive = sides_[1]->receive(0, 9, in.data(), bytes_of(in));
  EXPECT_THAT(error_of([&] { progress(1); }), HasSubstr("lost 0: its memory cannot be read"));
}

}  // namespace
