// Random numbers for generated data: the same bits on every machine.
#pragma once

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

/// 0 .. count-1 out of 32 random bits.
inline std::uint32_t below(std::uint32_t bits, std::uint32_t count) {
  return static_cast<std::uint32_t>(std::uint64_t{bits} * count >> 32);
}

}  // namespace thalweg::engine
