// exp and its relatives as polynomials in place of the library's, so that loops vectorise; the same
// bits on every vector width.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {

/// exp(x) for x <= 0: 2^n exp(r), |r| <= ln 2 / 2, to the degree that float can tell.
THALWEG_INLINE float exponential(float x) {
  x = std::max(x, -87.0f);
  const float n = std::floor(x * 1.44269504f + 0.5f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const auto power = std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
  return p * power;
}

/// 1 / (1 + exp(-x))
THALWEG_INLINE float logistic(float x) {
  const float e = exponential(-std::fabs(x));
  return (x < 0 ? e : 1.0f) / (1 + e);
}

/// tanh(x): its series near 0, where the quotient would lose digits.
THALWEG_INLINE float hyperbolic_tangent(float x) {
  constexpr float kNear = 0.3f;
  const float s = x * x;
  const float series =
      x + x * s *
              (-3.33333333e-1f +
               s * (1.33333333e-1f +
                    s * (-5.39682540e-2f + s * (2.18694885e-2f + s * -8.86323553e-3f))));
  const float e = exponential(-2 * std::fabs(x));
  const float quotient = std::copysign((1 - e) / (1 + e), x);
  return std::fabs(x) < kNear ? series : quotient;
}

/// The standard normal distribution at x.
struct Normal {
  float below;  ///< P(X < x); error below 1e-7 (Abramowitz and Stegun 7.1.26)
  float density;
};
THALWEG_INLINE Normal normal(float x) {
  const float e = exponential(-0.5f * x * x);
  const float t = 1 / (1 + 0.231641888f * std::fabs(x));
  const float series =
      t * (0.254829592f +
           t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float tail = 0.5f * series * e;
  return {x < 0 ? tail : 1 - tail, 0.398942280f * e};
}

}  // namespace thalweg::engine::cpu
