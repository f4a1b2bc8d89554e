// The one-dimensional transforms of F(4, 3) at the points 0, +-a, +-b and infinity, on 16 channels
// at once. a and b are chosen for small errors; 1 and 2 are the textbook's.
#pragma once

#include "engine/device/cpu/avx512.h"

#if THALWEG_HAS_AVX512_CODE

namespace thalweg::engine::cpu::winograd {

constexpr float a = 0.625f, b = 1.5f;
constexpr float a2 = a * a, b2 = b * b, a3 = a2 * a, b3 = b2 * b;
// What divides the weights' transform at each point.
constexpr float at_0 = 1 / (a2 * b2), at_a = 1 / (2 * a2 * (a2 - b2)),
                at_b = 1 / (2 * b2 * (b2 - a2));

constexpr int side = 6, tile = 4, window = 3;
constexpr int points = side * side;

THALWEG_AVX512_INLINE Vector minus(Vector x, Vector y) {
  return _mm512_sub_ps(x, y);
}
THALWEG_AVX512_INLINE Vector times(Vector x, float factor) {
  return _mm512_mul_ps(x, all(factor));
}

/// Inputs (6) to points (6).
THALWEG_AVX512_INLINE void from_input(const Vector* d, Vector* p) {
  p[0] = times_plus(all(a2 * b2), d[0], minus_product(all(a2 + b2), d[2], d[4]));
  const Vector even_a = minus_product(all(b2), d[2], d[4]);
  const Vector odd_a = minus_product(all(b2), d[1], d[3]);
  p[1] = times_plus(all(a), odd_a, even_a);
  p[2] = minus_product(all(a), odd_a, even_a);
  const Vector even_b = minus_product(all(a2), d[2], d[4]);
  const Vector odd_b = minus_product(all(a2), d[1], d[3]);
  p[3] = times_plus(all(b), odd_b, even_b);
  p[4] = minus_product(all(b), odd_b, even_b);
  p[5] = times_plus(all(a2 * b2), d[1], minus_product(all(a2 + b2), d[3], d[5]));
}

/// Points (6) to outputs (4).
THALWEG_AVX512_INLINE void to_output(const Vector* p, Vector* y) {
  const Vector even_a = plus(p[1], p[2]), odd_a = minus(p[1], p[2]);
  const Vector even_b = plus(p[3], p[4]), odd_b = minus(p[3], p[4]);
  y[0] = plus(p[0], plus(even_a, even_b));
  y[1] = times_plus(all(a), odd_a, times(odd_b, b));
  y[2] = times_plus(all(a2), even_a, times(even_b, b2));
  y[3] = times_plus(all(a3), odd_a, times_plus(all(b3), odd_b, p[5]));
}

/// Weights (3) to points (6).
THALWEG_AVX512_INLINE void from_weights(const Vector* g, Vector* p) {
  p[0] = times(g[0], at_0);
  const Vector even_a = times_plus(all(a2), g[2], g[0]), odd_a = times(g[1], a);
  p[1] = times(plus(even_a, odd_a), at_a);
  p[2] = times(minus(even_a, odd_a), at_a);
  const Vector even_b = times_plus(all(b2), g[2], g[0]), odd_b = times(g[1], b);
  p[3] = times(plus(even_b, odd_b), at_b);
  p[4] = times(minus(even_b, odd_b), at_b);
  p[5] = g[2];
}

/// Gradients of outputs (4) to gradients of points (6): to_output transposed.
THALWEG_AVX512_INLINE void from_output_gradient(const Vector* y, Vector* p) {
  p[0] = y[0];
  const Vector even_a = times_plus(all(a2), y[2], y[0]), odd_a = times_plus(all(a2), y[3], y[1]);
  p[1] = times_plus(all(a), odd_a, even_a);
  p[2] = minus_product(all(a), odd_a, even_a);
  const Vector even_b = times_plus(all(b2), y[2], y[0]), odd_b = times_plus(all(b2), y[3], y[1]);
  p[3] = times_plus(all(b), odd_b, even_b);
  p[4] = minus_product(all(b), odd_b, even_b);
  p[5] = y[3];
}

/// Gradients of points (6) to those of weights (3): from_weights transposed.
THALWEG_AVX512_INLINE void to_weight_gradient(const Vector* p, Vector* g) {
  const Vector even_a = times(plus(p[1], p[2]), at_a), odd_a = times(minus(p[1], p[2]), at_a);
  const Vector even_b = times(plus(p[3], p[4]), at_b), odd_b = times(minus(p[3], p[4]), at_b);
  g[0] = times_plus(all(at_0), p[0], plus(even_a, even_b));
  g[1] = times_plus(all(a), odd_a, times(odd_b, b));
  g[2] = times_plus(all(a2), even_a, times_plus(all(b2), even_b, p[5]));
}

/// `Transform` of From numbers to To numbers, down the columns and then along the rows.
template <int From, int To, void (*Transform)(const Vector*, Vector*)>
THALWEG_AVX512_INLINE void both_ways(const Vector (&in)[From][From], Vector (&out)[To][To]) {
  Vector half[From][To];  // by column of `in`
  for (int column = 0; column < From; ++column) {
    Vector line[From];
    for (int i = 0; i < From; ++i)
      line[i] = in[i][column];
    Transform(line, half[column]);
  }
  for (int row = 0; row < To; ++row) {
    Vector line[From];
    for (int i = 0; i < From; ++i)
      line[i] = half[i][row];
    Transform(line, out[row]);
  }
}

}  // namespace thalweg::engine::cpu::winograd

#endif
