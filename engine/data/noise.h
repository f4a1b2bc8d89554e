// Random numbers for generated data: the same bits on every machine.
#pragma once

#include <array>
#include <cstdint>

#include "engine/tensor/random.h"

namespace thalweg::engine {

/// Nearly normal, mean 0, variance 1: twelve uniform numbers less six. Sums of 24-bit fractions are
/// the same bits on every machine, which log() and cos() are not.
inline float nearly_normal(std::uint64_t seed, std::uint32_t a, std::uint64_t b) {
  float sum = -6;
  for (std::uint32_t part = 0; part < 3; ++part)
    for (const std::uint32_t bits : philox(seed, Stream::noise, 3 * a + part, b))
      sum += uniform01(bits);
  return sum;
}

/// Two numbers, rounder than nearly_normal's (each a sum of four uniform 16-bit ones, within +-3.5)
/// and six times as fast.
inline std::array<float, 2> two_bell_shaped(std::uint64_t seed, std::uint32_t a, std::uint64_t b) {
  constexpr float kDeviation = 0x1p-16f * 1.7320508f;  // of a sum of four: 2^16 sqrt(4 / 12)
  const auto bits = philox(seed, Stream::noise, a, b);
  const auto sum = [](std::uint32_t x, std::uint32_t y) {
    return (x & 0xffff) + (x >> 16) + (y & 0xffff) + (y >> 16);
  };
  const auto centred = [&](std::uint32_t s) {
    return (static_cast<float>(s) - 2 * 65535.0f) * kDeviation;
  };
  return {centred(sum(bits[0], bits[1])), centred(sum(bits[2], bits[3]))};
}

/// 0 .. count-1 out of 32 random bits.
inline std::uint32_t below(std::uint32_t bits, std::uint32_t count) {
  return static_cast<std::uint32_t>(std::uint64_t{bits} * count >> 32);
}

}  // namespace thalweg::engine
