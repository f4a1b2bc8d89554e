// What batch_norm and group_norm share: the passes of cuda_kernels.h as operations.
#pragma once

#include "engine/device/cuda/builder.h"
#include "engine/layers/batch_norm/cuda_kernels.h"

namespace thalweg::engine::cuda {

struct ChannelNorm {
  NormShape shape;
  int parameter = 0;  ///< number of the weight; the bias is the next one
  TensorId x = -1, weight = -1, bias = -1;
  TensorId added = -1;  ///< before the relu; -1: nothing
  // In backward, where something is added before a relu:
  TensorId y = -1;                    ///< what that put out; -1: there is none
  TensorId other = -1;                ///< to be added to dy; -1: nothing
  TensorId mean = -1, variance = -1;  ///< floats (outer, columns / group)
  TensorId coefficients = -1;         ///< norm_coefficients()
};

/// Of the layer that is being added; without mean and variance. x has the type b.type().
ChannelNorm channel_norm(Builder& b, const Node& node, const Columns& shape, std::int64_t group,
                         double epsilon, TensorId x);
/// Mean and variance: a reading of x.
void measure(Builder& b, Builder::Pass pass, const ChannelNorm& norm);
/// Where they are known: what normalize() reads.
void take_moments(Builder& b, Builder::Pass pass, const ChannelNorm& norm);
/// y, of the type of x.
void normalize(Builder& b, Builder::Pass pass, const ChannelNorm& norm, TensorId y);
/// In backward: the parameters' gradients, which are ready then, and the gradient of x, like x.
/// `dy` has the type of x. With `y` it becomes the gradient of the sum before the relu.
TensorId normalize_backward(Builder& b, const ChannelNorm& norm, TensorId dy);

}  // namespace thalweg::engine::cuda
