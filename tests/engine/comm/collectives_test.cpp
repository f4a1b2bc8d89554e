// Broadcast, allgather, barrier, and what happens when ranks do not play together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

using std::chrono::milliseconds;

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, BroadcastFromEveryRoot) {
  on_ranks(GetParam(), [](Group& group) {
    for (const std::size_t count : {0, 1, 3, 1000, 65537}) {
      for (int root = 0; root < group.size(); ++root) {
        std::vector<int> data(count, -1);
        if (group.rank() == root) std::iota(data.begin(), data.end(), root * 10);
        group.broadcast(data.data(), count * sizeof(int), root);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(root * 10 + static_cast<int>(i), data[i]);
        }
      }
    }
  });
}

TEST_P(Ranks, AllgatherPutsEveryRankInItsPlace) {
  on_ranks(GetParam(), [](Group& group) {
    for (const std::size_t count : {0, 1, 3, 1000, 65537}) {
      std::vector<int> mine(count, group.rank() + 1);
      std::vector<int> all(count * static_cast<std::size_t>(group.size()), -1);
      group.allgather(mine.data(), all.data(), count * sizeof(int));
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(static_cast<int>(i / count) + 1, all[i]);
      }
    }
  });
}

TEST_P(Ranks, NobodyLeavesABarrierBeforeTheLastHasCome) {
  std::atomic<int> arrived{0};
  on_ranks(GetParam(), [&](Group& group) {
    for (int round = 1; round <= 50; ++round) {
      ++arrived;
      group.barrier();
      ASSERT_GE(arrived.load(), round * group.size());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Counts, Ranks, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 13),
                         testing::PrintToStringParamName());

/// Runs `body` on each rank and returns what each one's CommError said.
std::vector<std::string> errors_of(int ranks, const GroupOptions& options, int culprit,
                                   const std::function<void(Group&)>& body) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  auto transports = memory_transports(ranks);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < transports.size(); ++r) {
    threads.emplace_back([&, r] {
      Group group(std::move(transports[r]), options);
      try {
        body(group);
      } catch (const CommError& e) {
        messages[r] = e.what();
        EXPECT_EQ(culprit, e.rank());
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return messages;
}

TEST(Trouble, ARankThatLeavesIsNamedByAllOthers) {
  const auto messages = errors_of(4, {}, 2, [](Group& group) {
    group.barrier();
    if (group.rank() == 2) return;
    std::vector<double> data(1000, 1);
    group.allreduce(data.data(), data.size(), Type::f64, Op::sum);
  });
  EXPECT_EQ("", messages[2]);
  for (const int r : {0, 1, 3}) {
    EXPECT_THAT(messages[static_cast<std::size_t>(r)], testing::HasSubstr("rank 2"));
  }
}

TEST(Trouble, ARankThatDoesNotComeIsNamedAfterTheStallTime) {
  std::atomic<int> ended{0};
  const auto messages = errors_of(4, {.stall_timeout = milliseconds(300)}, 1, [&](Group& group) {
    group.barrier();
    if (group.rank() == 1) {
      while (ended < 3) {
        std::this_thread::sleep_for(milliseconds(5));
      }
      return;
    }
    struct Count {
      std::atomic<int>& n;
      ~Count() { ++n; }
    } count{ended};
    group.barrier();
  });
  for (const int r : {0, 2, 3}) {
    EXPECT_THAT(messages[static_cast<std::size_t>(r)], testing::HasSubstr("rank 1"));
    EXPECT_THAT(messages[static_cast<std::size_t>(r)], testing::HasSubstr("does not answer"));
  }
}

TEST(Trouble, DifferentLengthsAreToldByWhoeverSeesThemFirst) {
  std::string said;
  auto transports = memory_transports(2);
  std::thread other([&] {
    Group group(std::move(transports[1]), {.allreduce = "ring"});
    std::vector<float> data(120);
    EXPECT_THROW(group.allreduce(data.data(), data.size(), Type::f32, Op::sum), CommError);
  });
  {
    Group group(std::move(transports[0]), {.allreduce = "ring"});
    std::vector<float> data(100);
    EXPECT_THROW(
        {
          try {
            group.allreduce(data.data(), data.size(), Type::f32, Op::sum);
          } catch (const CommError& e) {
            said = e.what();
            throw;
          }
        },
        CommError);
  }
  other.join();
  EXPECT_THAT(said,
              testing::AnyOf(testing::HasSubstr("rank 1 sent 240 bytes where rank 0 expects 200"),
                             testing::HasSubstr("rank 0 sent 200 bytes where rank 1 expects 240")));
}

TEST(Trouble, OptionsAndRootsAreChecked) {
  auto transports = memory_transports(2);
  Group group(std::move(transports[0]));
  int x = 0;
  EXPECT_THROW(group.broadcast(&x, sizeof x, 2), std::invalid_argument);
  EXPECT_THROW(group.broadcast(&x, sizeof x, -1), std::invalid_argument);
}

}  // namespace
}  // namespace thalweg::engine::comm
