#include "engine/optim/matrix.h"

#include <algorithm>
#include <array>

#include "engine/optim/large_product.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::optim {
namespace {

// A block of c is kept in registers: 6 rows of two vectors of 64 bytes.
constexpr std::size_t kRows = 6;
template <class T>
constexpr std::size_t kWidth = 64 / sizeof(T);
template <class T>
constexpr std::size_t kColumns = 2 * kWidth<T>;

using Floats = float __attribute__((vector_size(64), aligned(4), may_alias));
using Doubles = double __attribute__((vector_size(64), aligned(8), may_alias));

/// a: k groups of kRows numbers; b: k groups of kColumns; c: kRows rows of kColumns.
template <class T, class Vector>
THALWEG_INLINE void block(std::size_t k, const T* a, const T* b, T* c) {
  Vector sum[kRows][2] = {};
  for (std::size_t p = 0; p < k; ++p) {
    const auto* row = reinterpret_cast<const Vector*>(b + p * kColumns<T>);
    const Vector left = row[0], right = row[1];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < kRows; ++i) {
      const T factor = a[p * kRows + i];
      sum[i][0] += factor * left;
      sum[i][1] += factor * right;
    }
  }
  auto* out = reinterpret_cast<Vector*>(c);
#pragma GCC unroll 6
  for (std::size_t i = 0; i < kRows; ++i) {
    out[2 * i] = sum[i][0];
    out[2 * i + 1] = sum[i][1];
  }
}
THALWEG_SIMD void run_block(std::size_t k, const float* a, const float* b, float* c) {
  block<float, Floats>(k, a, b, c);
}
THALWEG_SIMD void run_block(std::size_t k, const double* a, const double* b, double* c) {
  block<double, Doubles>(k, a, b, c);
}

/// Columns first .. first + width of the (k, n) that x stands for, as k groups; what is not there
/// is 0. For a's panels x stands for a^T.
template <class T>
void pack(std::size_t n, std::size_t k, const T* x, Stored stored, std::size_t first,
          std::size_t width, T* to) {
  const std::size_t here = std::min(width, n - first);
  if (here < width) std::fill_n(to, k * width, T(0));
  if (stored == Stored::plain) {
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < here; ++j)
        to[p * width + j] = x[p * n + first + j];
  } else {
    for (std::size_t j = 0; j < here; ++j)
      for (std::size_t p = 0; p < k; ++p)
        to[p * width + j] = x[(first + j) * k + p];
  }
}

template <class T>
void multiply_any(std::size_t m, std::size_t n, std::size_t k, const T* a, Stored a_is, const T* b,
                  Stored b_is, T* c) {
  const Stored a_turned = the_other(a_is);
  const std::size_t panels = (m + kRows - 1) / kRows;
  T* left = scratch<T>(14, panels * kRows * k);
  T* right = scratch<T>(15, kColumns<T> * k);
  for (std::size_t i = 0; i < panels; ++i)
    pack(m, k, a, a_turned, i * kRows, kRows, left + i * kRows * k);
  std::array<T, kRows * kColumns<T>> out;
  for (std::size_t j = 0; j < n; j += kColumns<T>) {
    pack(n, k, b, b_is, j, kColumns<T>, right);
    const std::size_t width = std::min(kColumns<T>, n - j);
    for (std::size_t i = 0; i < m; i += kRows) {
      run_block(k, left + i * k, right, out.data());
      for (std::size_t row = 0; row < std::min(kRows, m - i); ++row)
        std::copy_n(out.data() + row * kColumns<T>, width, c + (i + row) * n + j);
    }
  }
}

}  // namespace

void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, Stored a_is,
              const float* b, Stored b_is, float* c) {
  if (is_large(m, n, k)) return multiply_large(m, n, k, a, a_is, b, b_is, 0, c);
  multiply_any(m, n, k, a, a_is, b, b_is, c);
}
void multiply(std::size_t m, std::size_t n, std::size_t k, const double* a, Stored a_is,
              const double* b, Stored b_is, double* c) {
  multiply_any(m, n, k, a, a_is, b, b_is, c);
}

void multiply_by_transpose(std::size_t n, std::size_t k, const float* a, Stored a_is, float* c) {
  if (is_large(n, n, k)) return multiply_by_transpose_large(n, k, a, a_is, 0, c);
  multiply_any(n, n, k, a, a_is, a, the_other(a_is), c);
}
void multiply_by_transpose(std::size_t n, std::size_t k, const double* a, Stored a_is, double* c) {
  multiply_any(n, n, k, a, a_is, a, the_other(a_is), c);
}

MatrixShape matrix_shape(const Shape& shape) {
  const auto count = static_cast<std::size_t>(elements(shape));
  if (shape.size() < 2) return {1, count};
  const auto rows = static_cast<std::size_t>(shape[0]);
  return {rows, rows == 0 ? 0 : count / rows};
}

template <class T>
T* scratch(int slot, std::size_t count) {
  thread_local std::array<std::vector<T>, 16> pool;
  std::vector<T>& chunk = pool.at(static_cast<std::size_t>(slot));
  if (chunk.size() < count) chunk.resize(count);
  return chunk.data();
}
template float* scratch(int, std::size_t);
template double* scratch(int, std::size_t);
template Bf16* scratch(int, std::size_t);

template <class T>
PlainTensor<T>::PlainTensor(const Layout<T>* layout, const Segment& segment, std::size_t count,
                            const OptimizerMemory<T>& memory)
    : layout_(layout),
      parameter_(segment.parameter),
      device_w_(memory.w + segment.offset),
      w_(device_w_),
      g_(memory.g + segment.offset) {
  if (layout_ == nullptr) return;
  w_ = scratch<T>(12, count);
  layout_->to_plain(parameter_, device_w_, w_);
  T* g = scratch<T>(13, count);
  layout_->to_plain(parameter_, g_, g);
  g_ = g;
}

template <class T>
void PlainTensor<T>::store() const {
  if (layout_ != nullptr) layout_->from_plain(parameter_, w_, device_w_);
}
template class PlainTensor<float>;
template class PlainTensor<double>;

}  // namespace thalweg::engine::optim
