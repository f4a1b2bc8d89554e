// Functions of every element on its own, as in reference.cpp: one pass each way.
// Functions of a stream, the GPU's memory and sizes; nothing is waited for. Tensors begin at
// multiples of 64 bytes.
#pragma once

#include <cstdint>

#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

struct Activation {
  enum class Kind { leaky_relu, tanh, sigmoid, gelu, silu };
  Kind kind = Kind::gelu;
  double parameter = 0;  ///< leaky_relu: the derivative below 0; tanh: what it is scaled by

  /// Backward reads the output, where that tells the derivative, so that x's memory is free; else
  /// x.
  bool reads_output() const { return kind != Kind::gelu && kind != Kind::silu; }
};

/// y, which may be x where their types are the same.
void activation_forward(gpu::Stream& stream, const Activation& f, std::int64_t count,
                        gpu::Type from, const void* x, gpu::Type to, void* y);
/// dy becomes the gradient of x; `saved`: the output or x, as reads_output() says.
void activation_backward(gpu::Stream& stream, const Activation& f, std::int64_t count, gpu::Type of,
                         const void* saved, gpu::Type type, void* dy);

}  // namespace thalweg::engine::cuda
