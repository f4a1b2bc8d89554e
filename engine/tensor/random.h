// Counter-based random numbers: the n-th number is a function of (key, counters), so it does not
// depend on the number of ranks, on threads or on what was drawn before. Philox4x32-10 (Salmon et
// al., SC 2011). Not jobspec's (jobspec/random.h): of jobspec the engine knows trials and values
// alone, and this one must inline into the loops that draw, on GPUs too (constexpr: nvcc's
// --expt-relaxed-constexpr).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace thalweg::engine {

/// Purpose of a stream: keeps the streams of one seed apart.
enum class Stream : std::uint32_t {
  init = 1,
  shuffle = 2,
  dropout = 3,
  augment = 4,
  split = 5,
  noise = 6,
  labels = 7,
  mixing = 8,
  compress = 16
};

/// 128 random bits for (seed, stream, a, b). `a` is usually the step or epoch (below 2^32), `b` the
/// sample or element (below 2^64).
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, Stream stream, std::uint32_t a,
                                              std::uint64_t b) {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32),
                                 a, static_cast<std::uint32_t>(stream)};
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/// Uniform in [0, 1): 24 bits, exact in float.
constexpr float uniform01(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

}  // namespace thalweg::engine
