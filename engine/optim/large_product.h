// Products of large matrices by oneDNN, on the calling thread. What matrix.h multiplies comes here
// by itself; Muon also multiplies in bfloat16.
#pragma once

#include <cstddef>

#include "engine/optim/matrix.h"
#include "engine/tensor/half.h"

namespace thalweg::engine::optim {

/// Whether a product (m, k) (k, n) is worth a call of oneDNN. A rule of the sizes alone, so that
/// the bits do not depend on ranks or threads; never after multiply_portably(true).
bool is_large(std::size_t m, std::size_t n, std::size_t k);

/// Whether the processor multiplies bfloat16 itself (AVX512-BF16, AMX).
bool multiplies_bf16();

/// c (m, n) = a (m, k) b (k, n) + add c, as in multiply(). T is float or Bf16; sums are floats, in
/// an order that oneDNN chooses for the sizes and the processor. With add = 0, c is not read. c
/// must not overlap a or b. Thread-safe.
template <class T>
void multiply_large(std::size_t m, std::size_t n, std::size_t k, const T* a, Stored a_is,
                    const T* b, Stored b_is, float add, float* c);
/// c (n, n) = a a^T + add c of a (n, k) and a symmetric c: as multiply_large(), but from 512 rows
/// on little more than half of it is multiplied.
template <class T>
void multiply_by_transpose_large(std::size_t n, std::size_t k, const T* a, Stored a_is, float add,
                                 float* c);

/// Newton and Schulz's iteration of muon.cpp on x (rows, columns) with |x| <= 1, by products in
/// bfloat16 as in KellerJordan/Muon; x itself and the sums stay floats. Thread-safe.
void newton_schulz_bf16(const MatrixShape& s, int iterations, float* x);

}  // namespace thalweg::engine::optim
