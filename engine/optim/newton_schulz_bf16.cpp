// Muon's iteration in bfloat16: every factor of a product is rounded, what is added to a product is
// not.
#include <algorithm>

#include "engine/optim/large_product.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::optim {
namespace {

/// to = factor x
THALWEG_SIMD void round_to_bf16(std::size_t n, float factor, const float* x, Bf16* to) {
  for (std::size_t i = 0; i < n; ++i)
    to[i] = to_bf16(factor * x[i]);
}

}  // namespace

void newton_schulz_bf16(const MatrixShape& s, int iterations, float* x) {
  const bool wide = s.rows <= s.columns;
  const std::size_t n = std::min(s.rows, s.columns), k = std::max(s.rows, s.columns);
  float* a = scratch<float>(2, n * n);
  Bf16* rounded_a = scratch<Bf16>(3, n * n);
  Bf16* rounded_x = scratch<Bf16>(4, s.count());
  for (int i = 0; i < iterations; ++i) {
    round_to_bf16(s.count(), 1, x, rounded_x);
    multiply_by_transpose_large(n, k, rounded_x, wide ? Stored::plain : Stored::transposed, 0, a);
    round_to_bf16(n * n, 1, a, rounded_a);
    // 2.0315 (A A - 4.7750 / 2.0315 A)
    multiply_by_transpose_large(n, n, rounded_a, Stored::plain, -4.7750f / 2.0315f, a);
    round_to_bf16(n * n, 2.0315f, a, rounded_a);
    if (wide)
      multiply_large(n, k, n, rounded_a, Stored::plain, rounded_x, Stored::plain, 3.4445f, x);
    else
      multiply_large(k, n, n, rounded_x, Stored::plain, rounded_a, Stored::plain, 3.4445f, x);
  }
}

}  // namespace thalweg::engine::optim
