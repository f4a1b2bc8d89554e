// Loops over flat vectors of floats in a GPU's memory. Nothing is waited for.
#pragma once

#include <cstddef>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

/// into[i] += from[i]
void add(Stream& stream, float* into, const float* from, std::size_t count);

/// at[i] *= factor
void scale(Stream& stream, float* at, float factor, std::size_t count);

/// into[i] = the sum of places[0][i], places[1][i], ... in the order of a tree that was written
/// down: after place p has been taken, the last two sums are joined joins[p] times; one is left.
/// At most `sum_in_tree_depth` sums are open at a time. `places`, of `number` pointers, and `joins`
/// are the GPU's memory; `into` may be one of the places. Pointers are multiples of 16 bytes.
void sum_in_tree(Stream& stream, float* into, const float* const* places, const int* joins,
                 int number, std::size_t count);
constexpr int sum_in_tree_depth = 16;

/// to[i] = from[i]
void narrow(Stream& stream, float* to, const double* from, std::size_t count);

/// *to = from[0] + ... + from[count - 1], in an order that depends on `count` alone.
void sum(Stream& stream, float* to, const double* from, std::size_t count);

/// running[i] = (1 - share[i]) * running[i] + share[i] * (sum[i] / parts)
void blend(Stream& stream, float* running, const float* share, const float* sum, int parts,
           std::size_t count);

/// Bytes that read as small numbers of either type, between -0.5 and 0.5, the same on every call:
/// what kernels are measured on, since zeros take less power. `at` is a multiple of 4, `bytes` is
/// rounded down to one.
void fill_with_numbers(Stream& stream, void* at, std::size_t bytes);

}  // namespace thalweg::engine::gpu
