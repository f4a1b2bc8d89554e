// Products of a large matrix with a few long vectors. Matrices are row-major; sets of r vectors are
// r rows one after another. The same bits on every vector width.
#pragma once

#include <cstddef>
#include <span>

namespace thalweg::engine {

struct MatrixView {
  const float* data;
  std::size_t rows, columns;
};

/// out[k][i] = sum over j of m[i][j] * in[k][j]; in: r x columns, out: r x rows.
void multiply(const MatrixView& m, std::size_t r, const float* in, float* out);
/// out[k][j] = sum over i of m[i][j] * in[k][i]; in: r x rows, out: r x columns.
void multiply_transposed(const MatrixView& m, std::size_t r, const float* in, float* out);
/// out[i][j] += factor * sum over k of left[k][i] * right[k][j].
void add_product(float factor, std::size_t r, const float* left, std::size_t rows,
                 const float* right, std::size_t columns, float* out);
/// Gram-Schmidt: r orthonormal rows of `count` numbers with the span of the given ones. What is
/// (nearly) no new direction becomes 0.
void orthonormalize(std::size_t r, std::size_t count, float* rows);

}  // namespace thalweg::engine
