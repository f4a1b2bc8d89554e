// Weights are drawn by Box and Muller's formula (1958) in double precision. One at a time, libm
// takes 50 ns for it. Here vectors take a tenth: they compute the formula nearly, to 2^-38, and
// where that leaves open which float is the nearest, libm decides as ever. So the bits are those of
// the plain formula, on every width of vectors.
#include "engine/nn/initialize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "engine/tensor/random.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine {
namespace {

/// Standard normal by Box and Muller, from 64 of the 128 bits.
double normal(std::uint64_t seed, std::uint32_t number, std::uint64_t element) {
  const auto bits = philox(seed, Stream::init, number, element);
  const double u = (static_cast<double>(bits[0]) + 0.5) * 0x1p-32;  // never 0
  const double v = static_cast<double>(bits[1]) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// Relative. The polynomials are within 2^-44; the angle 2 pi v is rounded by up to 1e-15, which
// matters where the cosine is small, and there, below 2 pi kSteep, libm decides.
constexpr double kNearly = 0x1p-38, kSteep = 0x1p-13;
constexpr std::size_t kBlock = 256;

/// A whole number below 2^52, exactly.
THALWEG_INLINE double to_double(std::uint64_t whole) {
  return std::bit_cast<double>(whole | std::bit_cast<std::uint64_t>(0x1p52)) - 0x1p52;
}

/// c_0 + c_1 z + ...
template <std::size_t n>
THALWEG_INLINE double polynomial(const std::array<double, n>& c, double z) {
  double sum = c[n - 1];
  for (std::size_t i = n - 1; i-- > 0;)
    sum = sum * z + c[i];
  return sum;
}

/// Of u in (0, 1): log(2^e m) = e log 2 + 2 artanh((m - 1) / (m + 1)), m from sqrt(1/2) to sqrt(2),
/// artanh by its Taylor series.
THALWEG_INLINE double near_log(double u) {
  constexpr std::uint64_t kRootHalf = std::bit_cast<std::uint64_t>(std::numbers::sqrt2 / 2);
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0);
  constexpr int kMantissa = 52, kBias = 1023;
  constexpr std::array kArtanh{2.0,     2.0 / 3,  2.0 / 5,  2.0 / 7,
                               2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15};
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(u) + (kOne - kRootHalf);
  const double exponent = to_double(shifted >> kMantissa) - kBias;
  const std::uint64_t mantissa = shifted & ((std::uint64_t{1} << kMantissa) - 1);
  const double over_one = std::bit_cast<double>(mantissa + kRootHalf) - 1;
  const double s = over_one / (2 + over_one);
  return exponent * std::numbers::ln2 + s * polynomial(kArtanh, s * s);
}

/// Of an angle in [-pi/2, pi/2], by the Taylor series.
THALWEG_INLINE double near_sin(double angle) {
  constexpr std::array kSine{1.0,
                             -1.0 / 6,
                             1.0 / 120,
                             -1.0 / 5040,
                             1.0 / 362880,
                             -1.0 / 39916800,
                             1.0 / 6227020800,
                             -1.0 / 1307674368000,
                             1.0 / 355687428096000};
  return angle * polynomial(kSine, angle * angle);
}

/// The bits that a draw takes of philox(seed, Stream::init, number, first + i), a word of 64 bits
/// for each of the 32: as they are multiplied.
THALWEG_INLINE void draw_bits(std::uint64_t seed, std::uint32_t number, std::uint64_t element,
                              std::uint64_t& radius, std::uint64_t& angle) {
  constexpr std::uint64_t kLow = 0xFFFFFFFFu;
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  std::uint64_t c0 = element & kLow, c1 = element >> 32, c2 = number;
  auto c3 = static_cast<std::uint64_t>(Stream::init);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * (c0 & kLow);
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * (c2 & kLow);
    c0 = p1 >> 32 ^ c1 ^ k0;
    c1 = p1 & kLow;
    c2 = p0 >> 32 ^ c3 ^ k1;
    c3 = p0 & kLow;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  radius = c0;
  angle = c1;
}

/// kBlock values times deviation; `open` is not 0 where libm has to decide.
THALWEG_SIMD void draw_nearly(std::uint64_t seed, std::uint32_t number, std::uint64_t first,
                              double deviation, float* __restrict out,
                              std::uint32_t* __restrict open) {
  std::uint64_t radius[kBlock], angle[kBlock];
  for (std::size_t i = 0; i < kBlock; ++i)
    draw_bits(seed, number, first + i, radius[i], angle[i]);
  for (std::size_t i = 0; i < kBlock; ++i) {
    const double u = (to_double(radius[i]) + 0.5) * 0x1p-32;
    // cos(2 pi v) = sin(2 pi (|v - 1/2| - 1/4))
    const double turn = std::abs(to_double(angle[i]) * 0x1p-32 - 0.5) - 0.25;
    const double value =
        deviation * (std::sqrt(-2 * near_log(u)) * near_sin(2 * std::numbers::pi * turn));
    const auto low = static_cast<float>(value * (1 - kNearly));
    const auto high = static_cast<float>(value * (1 + kNearly));
    out[i] = low;
    open[i] = static_cast<std::uint32_t>(low != high) |
              static_cast<std::uint32_t>(std::abs(turn) < kSteep);
  }
}

void draw_normal(std::uint64_t seed, std::uint32_t number, std::int64_t count, double deviation,
                 float* plain) {
  std::array<float, kBlock> block;
  std::array<std::uint32_t, kBlock> open;
  const auto end = static_cast<std::uint64_t>(count);
  for (std::uint64_t first = 0; first < end; first += kBlock) {
    draw_nearly(seed, number, first, deviation, block.data(), open.data());
    const std::size_t in_block = std::min<std::uint64_t>(kBlock, end - first);
    for (std::size_t i = 0; i < in_block; ++i)
      plain[first + i] =
          open[i] == 0 ? block[i] : static_cast<float>(deviation * normal(seed, number, first + i));
  }
}

}  // namespace

void initialize_parameter(const ParameterPlan& plan, std::uint64_t seed, std::uint32_t number,
                          float* plain) {
  const std::int64_t count = elements(plan.shape);
  switch (plan.init) {
    case Init::zeros:
      std::fill_n(plain, count, 0.0f);
      return;
    case Init::ones:
      std::fill_n(plain, count, 1.0f);
      return;
    case Init::scaled_normal:
    case Init::small_normal:
      break;
  }
  constexpr double kSmall = 0.02;
  const double deviation = plan.init == Init::small_normal
                               ? kSmall
                               : std::sqrt(plan.gain_squared / static_cast<double>(plan.fan_in));
  draw_normal(seed, number, count, deviation, plain);
}

}  // namespace thalweg::engine
