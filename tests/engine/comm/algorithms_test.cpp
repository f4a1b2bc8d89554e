// Every algorithm of the collectives that move data, on any rank count and any length.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/comm/algorithms/table.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 16};

/// What rank `from` has for rank `to` at `i`.
std::uint16_t value(int from, int to, std::size_t i) {
  return static_cast<std::uint16_t>(from * 1009 + to * 31 + static_cast<int>(i % 4001));
}

/// Calls `body` with a group of every rank count that uses the algorithm; twice.
void with(Collective collective, const std::string& name, const std::function<void(Group&)>& body) {
  const Row& row = *find_row(collective, name);
  for (const int ranks : kRankCounts) {
    if (row.needs == Needs::power_of_two && (ranks & (ranks - 1))) continue;
    on_ranks(ranks, [&](Group& group) {
      group.use(collective, name);
      body(group);
      body(group);
    });
    if (testing::Test::HasFailure()) return;
  }
}

class Allgather : public testing::TestWithParam<std::string> {};

TEST_P(Allgather, PutsEveryRankInItsPlace) {
  with(Collective::allgather, GetParam(), [](Group& group) {
    for (const std::size_t count : {0U, 1U, 3U, 1000U, 40000U}) {
      std::vector<std::uint16_t> mine(count);
      for (std::size_t i = 0; i < count; ++i) {
        mine[i] = value(group.rank(), 0, i);
      }
      std::vector<std::uint16_t> all(count * static_cast<std::size_t>(group.size()));
      group.allgather(mine.data(), all.data(), count * sizeof mine[0]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(value(static_cast<int>(i / count), 0, i % count), all[i]);
      }
    }
  });
}

TEST_P(Allgather, SegmentsOfAnyLength) {
  with(Collective::allgather, GetParam(), [](Group& group) {
    for (const std::size_t count : {1U, 2U, 5U, 12U, 17U, 1003U, 100003U}) {
      std::vector<double> data(count, -1);
      const auto own = group.segment(count, group.rank());
      std::iota(data.begin() + static_cast<long>(own.begin),
                data.begin() + static_cast<long>(own.begin + own.count),
                static_cast<double>(own.begin));
      group.allgather_segments(data.data(), count, Type::f64);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(static_cast<double>(i), data[i]) << "of " << count;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Allgather, testing::ValuesIn(names_of(Collective::allgather)),
                         [](const auto& given) { return given.param; });

class Broadcast : public testing::TestWithParam<std::string> {};

TEST_P(Broadcast, FromEveryRoot) {
  with(Collective::broadcast, GetParam(), [](Group& group) {
    for (const std::size_t count : {0U, 1U, 3U, 1000U, 150001U}) {
      for (int root = 0; root<group.size(); root += count> 1000 ? 3 : 1) {
        std::vector<std::uint16_t> data(count);
        for (std::size_t i = 0; i < count && group.rank() == root; ++i) {
          data[i] = value(root, 0, i);
        }
        group.broadcast(data.data(), count * sizeof data[0], root);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(value(root, 0, i), data[i]);
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Broadcast, testing::ValuesIn(names_of(Collective::broadcast)),
                         [](const auto& given) { return given.param; });

class AllToAll : public testing::TestWithParam<std::string> {};

TEST_P(AllToAll, Transposes) {
  with(Collective::all_to_all, GetParam(), [](Group& group) {
    const auto ranks = static_cast<std::size_t>(group.size());
    for (const std::size_t count : {0U, 1U, 100U, 9001U}) {
      std::vector<std::uint16_t> out(count * ranks), in(count * ranks);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = value(group.rank(), static_cast<int>(i / count), i % count);
      }
      group.all_to_all(out.data(), in.data(), count * sizeof out[0]);
      for (std::size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(value(static_cast<int>(i / count), group.rank(), i % count), in[i]);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AllToAll, testing::ValuesIn(names_of(Collective::all_to_all)),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace thalweg::engine::comm
