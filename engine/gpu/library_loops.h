// Loops of our own around the libraries' calls. For this folder only.
#pragma once

#include <array>
#include <cstdint>

#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::gpu {

void narrow(Stream& stream, std::int64_t n, const float* from, Bf16* to);
void widen(Stream& stream, std::int64_t n, const Bf16* from, float* to);
/// `sizes`: outputs, places, inputs of a convolution's weights: to (inputs, places, outputs), the
/// places in the opposite order.
void turn_weights(Stream& stream, Type type, const std::array<std::int64_t, 3>& sizes,
                  const void* from, void* to);
/// To every row of y (rows, n), `row` elements from one to the next: + bias (of y's type), then
/// relu. A null bias adds nothing.
void add_bias(Stream& stream, Type type, std::int64_t rows, std::int64_t n, std::int64_t row,
              void* y, const void* bias, bool relu);

}  // namespace thalweg::engine::gpu
