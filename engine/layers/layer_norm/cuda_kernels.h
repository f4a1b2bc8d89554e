// layer_norm over the rows of a tensor (rows, features). Functions of a stream, the GPU's memory
// and sizes; nothing is waited for. Tensors have the type `type` and begin at multiples of 64
// bytes.
#pragma once

#include <cstdint>

#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

/// What forward keeps of a row.
struct RowMoments {
  float mean, inverse;  ///< 1 / sqrt(variance + epsilon)
};

struct RowShape {
  std::int64_t rows = 0, features = 0;
};

void layer_norm_forward(gpu::Stream& stream, gpu::Type type, const RowShape& shape, float epsilon,
                        const void* x, const float* weight, const float* bias, void* y,
                        RowMoments* moments);

/// Of backward. With `input` dy becomes the gradient of x, plus `before`, null for none.
struct RowGradients {
  const void* x;
  void* dy;
  const void* before;
  const float* weight;
  const RowMoments* moments;
  bool input;
};

/// Floats that layer_norm_backward needs on its way.
std::int64_t layer_norm_parts(const RowShape& shape);
void layer_norm_backward(gpu::Stream& stream, gpu::Type type, const RowShape& shape,
                         const RowGradients& tensors, float* parts, float* d_weight, float* d_bias);

}  // namespace thalweg::engine::cuda
