#include "engine/sync/finite.h"

#include <bit>
#include <cstdint>

#include "engine/tensor/simd.h"

namespace thalweg::engine {
namespace {

// Enough for the largest magnitude to be found in vector registers, few enough to stop early.
constexpr std::size_t kBlock = 4096;

/// Bits of the largest magnitude; they order as the magnitudes do, infinity and NaN on top.
THALWEG_SIMD std::uint32_t largest_bits(const float* values, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFu;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

}  // namespace

bool all_finite(const float* values, std::size_t count) {
  constexpr std::uint32_t infinity = 0x7F800000u;
  for (std::size_t i = 0; i < count; i += kBlock)
    if (largest_bits(values + i, count - i < kBlock ? count - i : kBlock) >= infinity) return false;
  return true;
}

}  // namespace thalweg::engine
