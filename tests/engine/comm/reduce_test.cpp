// The vector loops of reductions: the same bits as one element at a time, in place or not.
#include "engine/comm/reduction/reduce.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kCount = 1003;  // vectors of any width, and a rest

using Bytes = std::vector<std::byte>;

/// Any bits at all: NaN, infinities and denormals among them.
Bytes noise(unsigned seed, Type type) {
  std::mt19937 random(seed);
  Bytes bytes(kCount * size_of(type));
  for (auto& b : bytes) {
    b = static_cast<std::byte>(random());
  }
  return bytes;
}

TEST(Reduce, LoopsGiveTheBitsOfSingleElementsWhereverTheResultStands) {
  for (const Type type : {Type::f64, Type::f32, Type::f16, Type::bf16, Type::i32, Type::i64}) {
    for (const Op op : {Op::sum, Op::min, Op::max}) {
      const std::size_t size = size_of(type);
      const Bytes left = noise(1, type), right = noise(2, type);
      Bytes single(left.size()), apart(left.size()), on_left = left, on_right = right;
      for (std::size_t at = 0; at < single.size(); at += size) {
        combine(&single[at], &left[at], &right[at], 1, type, op);
      }
      combine(apart.data(), left.data(), right.data(), kCount, type, op);
      combine(on_left.data(), on_left.data(), right.data(), kCount, type, op);
      combine(on_right.data(), left.data(), on_right.data(), kCount, type, op);
      EXPECT_EQ(single, apart) << name_of(type) << " " << name_of(op);
      EXPECT_EQ(single, on_left) << name_of(type) << " " << name_of(op);
      EXPECT_EQ(single, on_right) << name_of(type) << " " << name_of(op);
    }
  }
}

TEST(Reduce, SixteenBitLoopsGiveTheBitsOfSingleElements) {
  for (const Type type : {Type::f16, Type::bf16}) {
    const Bytes noisy = noise(3, Type::f32), narrow_noise = noise(4, type);
    std::vector<float> values(kCount), widened(kCount);
    std::memcpy(values.data(), noisy.data(), noisy.size());
    Bytes narrowed(kCount * 2);
    narrow(narrowed.data(), values.data(), kCount, type);
    widen(widened.data(), narrow_noise.data(), kCount, type);
    auto sum = values;
    combine_widened(sum.data(), narrow_noise.data(), kCount, type, Op::sum);
    for (std::size_t i = 0; i < kCount; ++i) {
      Bytes two(2);
      narrow(two.data(), &values[i], 1, type);
      EXPECT_EQ(0, std::memcmp(two.data(), &narrowed[2 * i], 2));
      float wide = 0, one = values[i];
      widen(&wide, &narrow_noise[2 * i], 1, type);
      EXPECT_EQ(0, std::memcmp(&wide, &widened[i], sizeof wide));
      combine_widened(&one, &narrow_noise[2 * i], 1, type, Op::sum);
      EXPECT_EQ(0, std::memcmp(&one, &sum[i], sizeof one));
    }
  }
}

}  // namespace
}  // namespace thalweg::engine::comm
