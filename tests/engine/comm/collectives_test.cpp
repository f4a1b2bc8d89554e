// Broadcast, allgather, barrier, many at once and in sub-groups.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "tests/engine/comm/threads.h"
#include "tests/support/memory_transport.h"

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

TEST_P(Ranks, ReduceScatterLeavesEveryRankItsSegment) {
  on_ranks(GetParam(), [](Group& group) {
    for (const std::size_t count : {1, 3, 1000, 65537}) {
      std::vector<double> data(count);
      std::iota(data.begin(), data.end(), group.rank());
      group.reduce_scatter(data.data(), count, Type::f64, Op::average);
      const auto [begin, length] = group.segment(count, group.rank());
      for (std::size_t i = begin; i < begin + length; ++i) {
        ASSERT_NEAR(static_cast<double>(i) + (group.size() - 1) / 2.0, data[i], 1e-9);
      }
      group.allgather_segments(data.data(), count, Type::f64);
      ASSERT_NEAR(static_cast<double>(count - 1) + (group.size() - 1) / 2.0, data.back(), 1e-9);
    }
  });
}

TEST_P(Ranks, AllToAllTransposes) {
  on_ranks(GetParam(), [](Group& group) {
    const auto ranks = static_cast<std::size_t>(group.size());
    for (const std::size_t count : {0, 1, 1000}) {
      std::vector<int> out(count * ranks), in(count * ranks, -1);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = group.rank() * 100 + static_cast<int>(i / count);
      }
      group.all_to_all(out.data(), in.data(), count * sizeof(int));
      for (std::size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(static_cast<int>(i / count) * 100 + group.rank(), in[i]);
      }
    }
  });
}

TEST_P(Ranks, ManyOperationsUnderWayEndInAnyOrder) {
  on_ranks(GetParam(), [](Group& group) {
    constexpr int kEach = 5;
    std::vector<std::vector<std::int64_t>> sums(kEach, std::vector<std::int64_t>(5000, 1));
    std::vector<int> gathered(kEach * static_cast<std::size_t>(group.size()));
    std::vector<int> told(kEach, group.rank() == 0 ? 7 : 0);
    std::vector<std::unique_ptr<Request>> requests;
    const int mine = group.rank();
    for (std::size_t i = 0; i < kEach; ++i) {
      requests.push_back(group.start_allreduce(sums[i].data(), 5000 - i * 1000, Type::i64, Op::sum,
                                               "vector " + std::to_string(i)));
      requests.push_back(group.start_allgather(
          &mine, gathered.data() + i * static_cast<std::size_t>(group.size()), sizeof mine));
      requests.push_back(group.start_broadcast(&told[i], sizeof(int), 0));
    }
    group.barrier();
    for (std::size_t i = requests.size(); i-- > 0;) {
      if ((i + static_cast<std::size_t>(group.rank())) % 2) {
        requests[i]->wait();
      } else {
        while (!requests[i]->test()) {
          std::this_thread::yield();
        }
      }
    }
    for (std::size_t i = 0; i < kEach; ++i) {
      EXPECT_EQ(group.size(), sums[i][0]);
      EXPECT_EQ(7, told[i]);
      EXPECT_EQ(group.size() - 1, gathered[(i + 1) * static_cast<std::size_t>(group.size()) - 1]);
    }
  });
}

TEST_P(Ranks, SplitGroupsWorkApartAndTogether) {
  on_ranks(GetParam(), [](Group& group) {
    const int rank = group.rank();
    auto parity = group.split(rank % 2, -rank);  // the highest rank comes first
    auto pair = parity->split(parity->rank() / 2, 0);
    auto upper = group.split(rank < group.size() / 2 ? -1 : 0, rank);
    ASSERT_EQ(rank < group.size() / 2, upper == nullptr);

    int first = rank;
    parity->broadcast(&first, sizeof first, 0);
    const int last = group.size() - 1;
    EXPECT_EQ(last % 2 == rank % 2 ? last : last - 1, first);
    // All at once: messages of one group must not end in another.
    std::int64_t a = 1, b = 1, c = 1, d = 1;
    auto all = group.start_allreduce(&a, 1, Type::i64, Op::sum);
    auto half = parity->start_allreduce(&b, 1, Type::i64, Op::sum);
    auto two = pair->start_allreduce(&c, 1, Type::i64, Op::sum);
    if (upper) upper->allreduce(&d, 1, Type::i64, Op::sum);
    two->wait();
    all->wait();
    half->wait();
    EXPECT_EQ(group.size(), a);
    EXPECT_EQ(parity->size(), b);
    EXPECT_EQ(pair->size(), c);
    if (upper) {
      EXPECT_EQ(upper->size(), d);
    }
    group.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Counts, Ranks, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 13),
                         testing::PrintToStringParamName());

TEST(Trouble, AnAverageOfIntegersIsRefused) {
  auto transports = memory_transports(1);
  Group group(std::move(transports[0]));
  std::int32_t x = 1;
  EXPECT_THROW(group.allreduce(&x, 1, Type::i32, Op::average), std::invalid_argument);
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
