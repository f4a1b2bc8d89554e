// Messages over sockets, both ends in one thread; and how ranks find each other's sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/transport/socket/connection_table.h"
#include "engine/comm/transport/socket/interfaces.h"
#include "engine/comm/transport/socket/peer_connection.h"
#include "tests/engine/comm/throwing_host.h"

namespace {

using namespace thalweg::engine::comm;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::vector<char> noise(std::size_t bytes, unsigned seed) {
  std::vector<char> data(bytes);
  std::mt19937 random(seed);
  for (auto& byte : data) {
    byte = static_cast<char>(random());
  }
  return data;
}

/// Two ranks joined by `streams` connections.
class Pair {
 public:
  explicit Pair(int streams) {
    std::vector<thalweg::Descriptor> a;
    std::vector<thalweg::Descriptor> b;
    for (int s = 0; s < streams; ++s) {
      int fds[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) throw std::runtime_error("socketpair");
      a.emplace_back(fds[0]);
      b.emplace_back(fds[1]);
    }
    left = std::make_unique<PeerConnection>(host, 1, std::move(a), moved);
    right = std::make_unique<PeerConnection>(host, 0, std::move(b), moved);
  }

  /// Until all are done; false when nothing moves any more.
  bool finish(const std::vector<Request*>& requests) {
    for (;;) {
      bool all = true;
      for (Request* request : requests) {
        all = (!request || request->test()) && all;
      }
      if (all) return true;
      const auto before = moved;
      left->advance();
      right->advance();
      if (moved == before) return false;
    }
  }

  ThrowingHost host;
  std::uint64_t moved = 0;
  std::unique_ptr<PeerConnection> left, right;
};

class SocketMessages : public testing::TestWithParam<int> {};

TEST_P(SocketMessages, ArriveWholeAtAnySize) {
  Pair pair(GetParam());
  for (const std::size_t bytes : {0U, 1U, 16U, 65535U, 262143U, 262144U, 1000001U, 9000000U}) {
    const auto out = noise(bytes, 1);
    const auto back = noise(bytes, 2);
    std::vector<char> in(bytes);
    std::vector<char> in_back(bytes);
    const auto a = pair.right->receive(7, in.data(), bytes);
    const auto b = pair.left->receive(7, in_back.data(), bytes);
    const auto c = pair.left->send(7, out.data(), bytes);
    const auto d = pair.right->send(7, back.data(), bytes);
    ASSERT_TRUE(pair.finish({a.get(), b.get(), c.get(), d.get()})) << bytes;
    EXPECT_EQ(out, in);
    EXPECT_EQ(back, in_back);
    EXPECT_FALSE(pair.left->active());
    EXPECT_FALSE(pair.right->active());
  }
}

TEST_P(SocketMessages, MeetReceiversInAnyOrder) {
  Pair pair(GetParam());
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    constexpr std::size_t kSizes[] = {3, 100, 0, 300000, 40, 600000, 70000, 17};
    constexpr std::size_t kCount = std::size(kSizes);
    std::vector<std::vector<char>> out;
    std::vector<std::vector<char>> in;
    std::vector<std::size_t> order(kCount);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::unique_ptr<Request>> requests;
    std::vector<Request*> all;
    for (std::size_t i = 0; i < kCount; ++i) {
      out.push_back(noise(kSizes[i], static_cast<unsigned>(i)));
      in.emplace_back(kSizes[i]);
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      requests.push_back(pair.left->send(i, out[i].data(), kSizes[i]));
    }
    for (const std::size_t i : order) {
      requests.push_back(pair.right->receive(i, in[i].data(), kSizes[i]));
      if (round % 2 == 1) {  // the next receivers come late
        pair.left->advance();
        pair.right->advance();
      }
    }
    for (const auto& request : requests) {
      all.push_back(request.get());
    }
    ASSERT_TRUE(pair.finish(all));
    EXPECT_EQ(out, in);
  }
}

TEST_P(SocketMessages, LeaveTheMemoryOfOtherReceiversAlone) {
  for (const std::size_t bytes : {16U, 5000U, 20000U, 300000U}) {
    Pair pair(GetParam());
    const auto before = noise(bytes, 3);
    const auto out = noise(bytes, 4);
    auto waiting = before;  // still read while its message has not come
    std::vector<char> in(bytes);
    const auto first = pair.right->receive(1, waiting.data(), bytes);
    const auto second = pair.right->receive(2, in.data(), bytes);
    const auto sent = pair.left->send(2, out.data(), bytes);
    ASSERT_TRUE(pair.finish({second.get(), sent.get()}));
    EXPECT_EQ(out, in);
    EXPECT_EQ(before, waiting) << bytes;
    const auto late = pair.left->send(1, out.data(), bytes);
    ASSERT_TRUE(pair.finish({first.get(), late.get()}));
    EXPECT_EQ(out, waiting);
  }
}

TEST_P(SocketMessages, OfOneTagKeepTheirOrder) {
  Pair pair(GetParam());
  const int first = 1;
  const int second = 2;
  int in[2] = {};
  int other = 0;
  pair.left->send(4, &first, sizeof first);
  pair.left->send(4, &second, sizeof second);
  pair.left->send(5, &second, sizeof second);
  const auto waits = pair.right->receive(5, &other, sizeof other);  // the others are put aside
  EXPECT_TRUE(pair.finish({waits.get()}));
  EXPECT_EQ(nullptr, pair.right->receive(4, &in[0], sizeof in[0]));
  EXPECT_EQ(nullptr, pair.right->receive(4, &in[1], sizeof in[1]));
  EXPECT_EQ(1, in[0]);
  EXPECT_EQ(2, in[1]);
}

TEST_P(SocketMessages, OfAnotherLengthAreAnErrorAtTheReceiver) {
  for (const std::size_t sent : {0U, 5U, 400000U}) {
    for (const bool late : {false, true}) {
      Pair pair(GetParam());
      const auto out = noise(sent, 3);
      std::vector<char> in(10);
      std::unique_ptr<Request> receive;
      if (!late) receive = pair.right->receive(1, in.data(), in.size());
      const auto send = pair.left->send(1, out.data(), sent);
      char more = 0;
      const auto after = pair.right->receive(2, &more, 1);
      while (pair.finish({send.get()}), pair.moved != 0) {
        pair.moved = 0;
        pair.left->advance();
        pair.right->advance();
      }
      if (late) receive = pair.right->receive(1, in.data(), in.size());
      try {
        receive->test();
        FAIL() << sent;
      } catch (const std::runtime_error& e) {
        EXPECT_EQ("rank 0 sent " + std::to_string(sent) + ", expected 10", std::string(e.what()));
      }
    }
  }
}

TEST_P(SocketMessages, GivenUpHalfWayLeaveTheOthersWhole) {
  Pair pair(GetParam());
  constexpr std::size_t kLarge = 8000000;
  const auto kept = noise(1000, 4);
  std::vector<char> in(1000);
  {
    std::vector<char> large(kLarge, 'a');
    std::vector<char> into(kLarge);
    const auto receive = pair.right->receive(1, into.data(), kLarge);
    const auto send = pair.left->send(1, large.data(), kLarge);
    ASSERT_NE(nullptr, send);
    pair.left->advance();
    pair.right->advance();
    EXPECT_FALSE(receive->test());
  }  // both gone, with their memory
  const auto send = pair.left->send(2, kept.data(), kept.size());
  const auto receive = pair.right->receive(2, in.data(), in.size());
  EXPECT_TRUE(pair.finish({send.get(), receive.get()}));
  EXPECT_EQ(kept, in);
}

TEST_P(SocketMessages, StayInTheKernelWhileNobodyWaits) {
  Pair pair(GetParam());
  const auto out = noise(50000000, 6);
  const auto send = pair.left->send(1, out.data(), out.size());
  EXPECT_FALSE(pair.finish({send.get()}));
  std::vector<char> in(out.size());
  const auto receive = pair.right->receive(1, in.data(), in.size());
  EXPECT_TRUE(pair.finish({send.get(), receive.get()}));
  EXPECT_EQ(out, in);
}

TEST_P(SocketMessages, OfAPeerThatIsGoneAreAnError) {
  Pair pair(GetParam());
  char in = 0;
  const auto receive = pair.right->receive(1, &in, 1);
  pair.left->close();
  EXPECT_THROW(pair.right->advance(), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Streams, SocketMessages, testing::Values(1, 2, 3),
                         testing::PrintToStringParamName());

TEST(SocketAddresses, AreWrittenAndReadBack) {
  for (const char* text : {"10.1.2.3/24", "127.0.0.1/8", "fd00::12/64"}) {
    EXPECT_EQ(text, to_text(parse_address(text)));
  }
  EXPECT_THROW(parse_address("h1/24"), std::runtime_error);
  EXPECT_THAT(own_addresses(), Not(IsEmpty()));
}

TEST(SocketAddresses, KnowTheirSubnet) {
  const auto same = [](const char* a, const char* b) {
    return same_subnet(parse_address(a), parse_address(b));
  };
  EXPECT_TRUE(same("10.1.2.3/24", "10.1.2.250/24"));
  EXPECT_FALSE(same("10.1.2.3/24", "10.1.3.3/24"));
  EXPECT_TRUE(same("10.1.2.3/23", "10.1.3.3/23"));
  EXPECT_FALSE(same("10.1.2.3/24", "10.1.2.4/25"));
  EXPECT_FALSE(same("10.1.2.3/24", "fd00::12/24"));
}

TEST(SocketConnectionTable, JoinsEveryRankWithEveryOtherAndLeavesNothingOpen) {
  const std::size_t before = open_descriptors();
  constexpr int kRanks = 5;
  constexpr int kStreams = 2;
  {
    std::vector<ConnectionTable> tables(kRanks);
    std::vector<std::string> places;
    for (const auto& table : tables) {
      places.push_back(table.place());
    }
    places[3].clear();  // takes no part
    std::vector<std::vector<std::vector<thalweg::Descriptor>>> found(kRanks);
    std::vector<std::thread> ranks;
    for (int r = 0; r < kRanks; ++r) {
      if (r == 3) continue;
      ranks.emplace_back([&, r] {
        const auto i = static_cast<std::size_t>(r);
        found[i] = tables[i].meet(r, places, kStreams, [] {});
      });
    }
    for (auto& rank : ranks) {
      rank.join();
    }
    for (std::size_t a = 0; a < kRanks; ++a) {
      if (a == 3) continue;
      for (std::size_t b = 0; b < kRanks; ++b) {
        ASSERT_THAT(found[a][b], SizeIs(a == b || b == 3 ? 0 : kStreams));
        for (std::size_t s = 0; s < found[a][b].size() && a < b; ++s) {
          const char out = static_cast<char>(10 * a + b);
          char in = 0;
          ASSERT_EQ(1, ::send(found[a][b][s].get(), &out, 1, 0));
          while (::recv(found[b][a][s].get(), &in, 1, 0) != 1) {
          }
          EXPECT_EQ(out, in);
        }
      }
    }
  }
  EXPECT_EQ(before, open_descriptors());
}

TEST(SocketConnectionTable, AStrangerIsNotLetIn) {
  std::vector<ConnectionTable> tables(2);
  const std::vector<std::string> places{tables[0].place(), tables[1].place()};
  std::vector<std::string> wrong = places;  // rank 1 does not know rank 0's secret
  const auto secret = wrong[0].find(' ') + 1;
  wrong[0].replace(secret, 4, wrong[0].compare(secret, 4, "0000") == 0 ? "1111" : "0000");
  bool stop = false;
  int looks = 0;
  std::thread stranger([&] {
    EXPECT_THROW(tables[1].meet(1, wrong, 1,
                                [&] {
                                  if (++looks == 5) throw std::runtime_error("enough");
                                }),
                 std::runtime_error);
  });
  stranger.join();
  EXPECT_THROW(tables[0].meet(0, places, 1,
                              [&] {
                                if (std::exchange(stop, true)) throw std::runtime_error("enough");
                              }),
               std::runtime_error);
}

}  // namespace
