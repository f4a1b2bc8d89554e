// Every allreduce algorithm x type x operation x rank count x length, on ranks as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/comm/algorithms/table.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 2, 3, 7, 1000, 65537};

template <class T>
std::vector<T> values_of(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) * 7919U + 1U);
  std::vector<T> values(count);
  for (auto& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random() % 2000001) - 1000000;
    } else {
      value = std::uniform_real_distribution<T>(T{-1}, T{1})(random);
    }
  }
  return values;
}

template <class T>
void check(Group& group, std::size_t count, Type type, Op op) {
  auto data = values_of<T>(group.rank(), count);
  group.allreduce(data.data(), count, type, op);

  using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, long double>;
  std::vector<Wide> expected(count);
  std::vector<Wide> magnitude(count);
  for (int r = 0; r < group.size(); ++r) {
    const auto theirs = values_of<T>(r, count);
    for (std::size_t i = 0; i < count; ++i) {
      const Wide x = theirs[i];
      magnitude[i] += x < 0 ? -x : x;
      if (r == 0) {
        expected[i] = x;
      } else if (op == Op::sum) {
        expected[i] += x;
      } else {
        expected[i] = op == Op::min ? std::min(expected[i], x) : std::max(expected[i], x);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const bool exact = std::is_integral_v<T> || op != Op::sum;
    const Wide tolerance =
        exact ? Wide{0}
              : static_cast<Wide>(group.size()) * std::numeric_limits<T>::epsilon() * magnitude[i];
    const Wide difference = static_cast<Wide>(data[i]) - expected[i];
    ASSERT_LE(difference < 0 ? -difference : difference, tolerance)
        << "element " << i << " of " << count << " on rank " << group.rank() << " of "
        << group.size() << ": " << data[i] << " instead of " << expected[i];
  }
}

class Allreduce : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(Allreduce, EveryTypeOperationAndLength) {
  const auto& [algorithm, ranks] = GetParam();
  on_ranks(ranks, {.allreduce = algorithm}, [](Group& group) {
    for (const std::size_t count : kLengths) {
      for (const Op op : {Op::sum, Op::min, Op::max}) {
        check<float>(group, count, Type::f32, op);
        check<double>(group, count, Type::f64, op);
        check<std::int32_t>(group, count, Type::i32, op);
        check<std::int64_t>(group, count, Type::i64, op);
      }
    }
  });
}

TEST_P(Allreduce, SameBitsOnEveryRankAndEveryTime) {
  const auto& [algorithm, ranks] = GetParam();
  on_ranks(ranks, {.allreduce = algorithm}, [](Group& group) {
    constexpr std::size_t kCount = 999;
    std::vector<float> first;
    for (int round = 0; round < 3; ++round) {
      auto data = values_of<float>(group.rank(), kCount);
      group.allreduce(data.data(), kCount, Type::f32, Op::sum);
      std::vector<float> all(kCount * static_cast<std::size_t>(group.size()));
      group.allgather(data.data(), all.data(), kCount * sizeof(float));
      for (int r = 0; r < group.size(); ++r) {
        ASSERT_EQ(0, std::memcmp(data.data(), all.data() + static_cast<std::size_t>(r) * kCount,
                                 kCount * sizeof(float)));
      }
      if (round == 0) first = data;
      ASSERT_EQ(0, std::memcmp(data.data(), first.data(), kCount * sizeof(float)));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Allreduce,
                         testing::Combine(testing::ValuesIn(names_of(Collective::allreduce)),
                                          testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 13)),
                         [](const auto& given) {
                           return std::get<0>(given.param) + "_" +
                                  std::to_string(std::get<1>(given.param)) + "_ranks";
                         });

TEST(AllreduceValues, MinAndMaxKeepNan) {
  for (const auto& name : names_of(Collective::allreduce)) {
    on_ranks(3, {.allreduce = name}, [](Group& group) {
      for (const Op op : {Op::min, Op::max, Op::sum}) {
        for (int where = 0; where < 3; ++where) {
          float x = group.rank() == where ? std::nanf("") : static_cast<float>(group.rank());
          group.allreduce(&x, 1, Type::f32, op);
          EXPECT_TRUE(std::isnan(x)) << name_of(op) << ", NaN on rank " << where;
        }
      }
    });
  }
}

TEST(AllreduceValues, SegmentsCoverTheVectorForAnyRankCount) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const std::size_t count : kLengths) {
      const auto starts = segments(count, ranks);
      ASSERT_EQ(static_cast<std::size_t>(ranks) + 1, starts.size());
      EXPECT_EQ(0U, starts.front());
      EXPECT_EQ(count, starts.back());
      for (std::size_t r = 1; r < starts.size(); ++r) {
        EXPECT_LE(starts[r - 1], starts[r]);
        EXPECT_LE(starts[r] - starts[r - 1], count / static_cast<std::size_t>(ranks) + 1);
      }
    }
  }
}

}  // namespace
}  // namespace thalweg::engine::comm
