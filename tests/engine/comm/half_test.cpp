// 16-bit floats against the compiler's own _Float16 and against arithmetic.
#include "engine/comm/reduction/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "engine/threads/denormals.h"

namespace thalweg::engine::comm {
namespace {

TEST(Half, EveryF16ValueIsWhatTheCompilerSays) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const F16 x{static_cast<std::uint16_t>(bits)};
    const auto expected = static_cast<float>(std::bit_cast<_Float16>(x.bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(to_float(x))) << bits;
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(expected), std::bit_cast<std::uint32_t>(to_float(x)));
    ASSERT_EQ(x.bits, to_f16(expected).bits);
  }
}

TEST(Half, EveryF16ValueIsTheSameWhereDenormalsCountAsZero) {
  std::vector<std::uint32_t> expected;
  for (unsigned bits = 0; bits < 0x10000U; ++bits)
    expected.push_back(
        std::bit_cast<std::uint32_t>(to_float(F16{static_cast<std::uint16_t>(bits)})));
  const FlushDenormals flush;
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const F16 x{static_cast<std::uint16_t>(bits)};
    const float value = to_float(x);
    ASSERT_EQ(expected[bits], std::bit_cast<std::uint32_t>(value)) << bits;
    if ((bits & 0x7C00U) != 0x7C00U) {
      ASSERT_EQ(x.bits, to_f16(value).bits);
    }
  }
}

TEST(Half, F16RoundsLikeTheCompilerEverywhere) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000000; ++i) {
    // All exponents for the first half, those around binary16's range for the second.
    std::uint32_t bits = random();
    if (i % 2) bits = (bits & 0x8FFFFFFFU) | 0x30000000U;
    const auto value = std::bit_cast<float>(bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(to_f16(value))));
      continue;
    }
    ASSERT_EQ(std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)), to_f16(value).bits)
        << value;
  }
}

TEST(Half, Bf16RoundsToTheNearestAndTiesToEven) {
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const Bf16 x{static_cast<std::uint16_t>(bits)};
    const float value = to_float(x);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(to_bf16(value))));
      continue;
    }
    ASSERT_EQ(x.bits, to_bf16(value).bits);
    if (std::isinf(value) || (bits & 0x7FFFU) == 0x7F7FU) continue;
    const std::uint32_t wide = bits << 16U;
    ASSERT_EQ(bits, to_bf16(std::bit_cast<float>(wide | 0x7FFFU)).bits);
    ASSERT_EQ(bits + 1, to_bf16(std::bit_cast<float>(wide | 0x8001U)).bits);
    ASSERT_EQ(bits + (bits & 1U), to_bf16(std::bit_cast<float>(wide | 0x8000U)).bits);
  }
}

}  // namespace
}  // namespace thalweg::engine::comm
