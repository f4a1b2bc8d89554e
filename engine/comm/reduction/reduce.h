// Element by element: into = op(left, right). The arithmetic of every reduction.
#pragma once

#include <cstddef>

#include "engine/comm/reduction/types.h"

namespace thalweg::engine::comm {

/// into[i] = op(left[i], right[i]); `into` may be `left` or `right`. min and max keep NaN. Integer
/// sums wrap around; average is the sum here, see finish(). The order of the operands matters only
/// for the payload of NaN and the sign of zeros: where bits must agree between ranks, keep the
/// lower rank on the left.
void combine(void* into, const void* left, const void* right, std::size_t count, Type type, Op op);

/// What is left to do when all ranks' elements are combined: average multiplies by 1 / ranks.
void finish(void* data, std::size_t count, Type type, Op op, int ranks);

/// into[i] += from[i].
void add(float* into, const float* from, std::size_t count);

// 16-bit floats on the wire (`type`: f16 or bf16) of vectors that are added up in f32.
void narrow(void* to, const float* from, std::size_t count, Type type);
void widen(float* to, const void* from, std::size_t count, Type type);
/// into[i] = op(into[i], from[i]) with `from` of `type`.
void combine_widened(float* into, const void* from, std::size_t count, Type type, Op op);

}  // namespace thalweg::engine::comm
