// The passes of batch_norm and group_norm over a tensor (outer, rows, columns): y = weight (x -
// mean) / sqrt(variance + epsilon) + bias, mean and variance over the rows of `group` neighbouring
// columns, then a relu where `relu` says so. Functions of a stream, the GPU's memory and sizes;
// nothing is waited for. Tensors have the type `type` and begin at multiples of 64 bytes.
#pragma once

#include <cstdint>

#include "engine/device/cuda/column_sums.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

struct NormShape {
  Columns tensor;
  std::int64_t group = 1;
  float epsilon = 0;
  bool relu = false;

  std::int64_t columns() const { return tensor.outer * tensor.columns; }
  std::int64_t groups() const { return columns() / group; }
  /// Every column has mean and variance of its own, and no other its weight.
  bool alone() const { return tensor.outer == 1 && group == 1; }
};

/// What passes over x are given for each column: three vectors of shape.columns() floats each, one
/// after another, mean, weight / sqrt(variance + epsilon) and bias.
inline std::int64_t norm_coefficients(const NormShape& shape) {
  return 3 * shape.columns();
}
/// Floats that channel_moments and channel_gradients need on their way.
std::int64_t norm_parts(const NormShape& shape);

/// Of a norm's parameters and statistics; mean and variance have shape.groups() floats.
struct NormVectors {
  const float *weight, *bias;
  float *mean, *variance;
};

/// Mean and variance of x, and the coefficients that follow.
void channel_moments(gpu::Stream& stream, gpu::Type type, const NormShape& shape, const void* x,
                     const NormVectors& vectors, float* parts, float* coefficients);
/// The coefficients where mean and variance are known.
void channel_coefficients(gpu::Stream& stream, const NormShape& shape, const NormVectors& vectors,
                          float* coefficients);
/// y from x; `added`, null for none, is added before the relu.
void channel_normalize(gpu::Stream& stream, gpu::Type type, const NormShape& shape, const void* x,
                       const void* added, const float* coefficients, void* y);

/// What backward reads: the gradient dy of y, where y is null. Else y is what a sum before a relu
/// put out (then shape.relu is false); `other`, null for none, is added to dy, and dy becomes the
/// gradient of the sum.
struct NormGradients {
  const void* x;
  const void* y;
  const void* other;
  void* dy;
};

/// The gradients of weight and bias, and two vectors of shape.columns() floats each in `inputs`, of
/// which the gradient of x is made: dx = scale dy - (x - mean) inputs[0] - inputs[1].
void channel_gradients(gpu::Stream& stream, gpu::Type type, const NormShape& shape,
                       const NormGradients& tensors, const NormVectors& vectors,
                       const float* coefficients, float* parts, float* inputs, float* d_weight,
                       float* d_bias);
/// dx, which may be dy, of the type of x.
void channel_input_gradient(gpu::Stream& stream, gpu::Type type, const NormShape& shape,
                            const void* x, const void* dy, const float* coefficients,
                            const float* inputs, void* dx);

}  // namespace thalweg::engine::cuda
