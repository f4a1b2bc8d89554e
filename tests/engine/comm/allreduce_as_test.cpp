// Allreduce of f32 vectors that travel as 16-bit floats: bit for bit what its header says.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "engine/comm/reduction/half.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

float rounded(float value, Type wire) {
  return wire == Type::f16 ? to_float(to_f16(value)) : to_float(to_bf16(value));
}

std::vector<float> values_of(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank) * 31U + 5U);
  std::vector<float> values(count);
  for (auto& value : values) {
    value = static_cast<float>(random()) * 1e-9F - 2.0F;
  }
  return values;
}

std::vector<float> expected(int ranks, std::size_t count, Type wire, Op op) {
  std::vector<float> result(count);
  for (int r = 0; r < ranks; ++r) {
    const auto values = values_of(r, count);
    for (std::size_t i = 0; i < count; ++i) {
      const float x = rounded(values[i], wire);
      if (r == 0) {
        result[i] = x;
      } else {
        result[i] = op == Op::max ? std::max(result[i], x) : result[i] + x;
      }
    }
  }
  for (auto& x : result) {
    if (op == Op::average) x *= static_cast<float>(1.0 / ranks);
    x = rounded(x, wire);
  }
  return result;
}

class AllreduceAs : public testing::TestWithParam<int> {};

TEST_P(AllreduceAs, RoundsOnceAddsInF32AndRoundsOnce) {
  for (const Type wire : {Type::f16, Type::bf16}) {
    for (const Op op : {Op::sum, Op::average, Op::max}) {
      for (const std::size_t count : {0U, 1U, 2U, 5U, 1000U, 1025U, 20001U}) {
        const auto right = expected(GetParam(), count, wire, op);
        on_ranks(GetParam(), [&](Group& group) {
          auto data = values_of(group.rank(), count);
          if (group.size() == 1) {
            group.allreduce_as(wire, data.data(), count, op);
            EXPECT_EQ(values_of(0, count), data);  // nothing travels
          } else {
            const auto request = group.start_allreduce_as(wire, data.data(), count, op, "bucket");
            request->wait();
            EXPECT_EQ(right, data) << name_of(wire) << " " << name_of(op) << " " << count;
          }
        });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AllreduceAs, testing::Values(1, 2, 3, 4, 5, 8, 13));

TEST(AllreduceAsLong, GoesInChunks) {
  constexpr std::size_t kCount = 3 * 1024 * 1024 + 17;
  const auto right = expected(3, kCount, Type::bf16, Op::average);
  on_ranks(3, [&](Group& group) {
    auto data = values_of(group.rank(), kCount);
    group.allreduce_as(Type::bf16, data.data(), kCount, Op::average);
    EXPECT_EQ(0, std::memcmp(right.data(), data.data(), kCount * sizeof(float)));
  });
}

TEST(AllreduceAsValues, InfinityAndNanArriveAndF32IsPlain) {
  on_ranks(3, [](Group& group) {
    std::vector<float> data{group.rank() == 1 ? std::nanf("") : 1.0F, 60000.0F, 1.0F};
    group.allreduce_as(Type::f16, data.data(), data.size(), Op::sum);
    EXPECT_TRUE(std::isnan(data[0]));
    EXPECT_TRUE(std::isinf(data[1]));
    EXPECT_EQ(3.0F, data[2]);
    float third = 1.0F / 3.0F;
    group.allreduce_as(Type::f32, &third, 1, Op::sum);
    EXPECT_FLOAT_EQ(1.0F, third);
    EXPECT_THROW(group.allreduce_as(Type::i32, data.data(), 1, Op::sum), std::invalid_argument);
  });
}

}  // namespace
}  // namespace thalweg::engine::comm
