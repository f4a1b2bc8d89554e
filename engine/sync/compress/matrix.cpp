#include "engine/sync/compress/matrix.h"

#include <algorithm>
#include <cmath>

#include "engine/tensor/simd.h"

namespace thalweg::engine {
namespace {

// Independent partial sums, so that the compiler may use vectors of any width up to this.
constexpr std::size_t kLanes = 16;

THALWEG_SIMD float dot(const float* a, const float* b, std::size_t n) {
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += a[i + lane] * b[i + lane];
  for (std::size_t lane = 0; i < n; ++i, ++lane)
    lanes[lane] += a[i] * b[i];
  float sum = 0;
  for (const float lane : lanes)
    sum += lane;
  return sum;
}

THALWEG_SIMD void add_scaled(float factor, const float* from, float* into, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    into[i] += factor * from[i];
}

double exact_dot(const float* a, const float* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace

void multiply(const MatrixView& m, std::size_t r, const float* in, float* out) {
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t k = 0; k < r; ++k)
      out[k * m.rows + i] = dot(m.data + i * m.columns, in + k * m.columns, m.columns);
}

void multiply_transposed(const MatrixView& m, std::size_t r, const float* in, float* out) {
  std::fill_n(out, r * m.columns, 0.0f);
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t k = 0; k < r; ++k)
      add_scaled(in[k * m.rows + i], m.data + i * m.columns, out + k * m.columns, m.columns);
}

void add_product(float factor, std::size_t r, const float* left, std::size_t rows,
                 const float* right, std::size_t columns, float* out) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < r; ++k)
      add_scaled(factor * left[k * rows + i], right + k * columns, out + i * columns, columns);
}

void orthonormalize(std::size_t r, std::size_t count, float* rows) {
  // A remainder below this part of the vector is rounding.
  constexpr double kNoise = 1e-6;
  for (std::size_t k = 0; k < r; ++k) {
    float* row = rows + k * count;
    const double before = std::sqrt(exact_dot(row, row, count));
    // Twice is enough (Giraud et al. 2005): the first pass may leave much of the others in.
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t other = 0; other < k; ++other) {
        const float* base = rows + other * count;
        add_scaled(static_cast<float>(-exact_dot(row, base, count)), base, row, count);
      }
    const double norm = std::sqrt(exact_dot(row, row, count));
    const bool nothing = norm <= kNoise * before;  // false for NaN, which must be seen later
    const auto factor = static_cast<float>(nothing ? 0 : 1 / norm);
    for (std::size_t i = 0; i < count; ++i)
      row[i] *= factor;
  }
}

}  // namespace thalweg::engine
