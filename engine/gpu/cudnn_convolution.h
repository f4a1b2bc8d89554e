// Convolutions by cuDNN. For this folder only.
#pragma once

#include <memory>

#include "engine/gpu/cudnn_plans.h"
#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// Throws GpuError: no cuDNN, or none of its engines does that.
std::unique_ptr<Call> cudnn_convolution(CudnnTarget& target, const Convolution& shape);

/// Operations of a convolution: its pass alone, or with what can be fused with it.
struct ConvolutionParts {
  bool bias = false;  ///< of the type of x
  bool relu = false;
  bool float_weights = true;  ///< dw as floats whatever the type of x
};
/// Tensors are numbered in the order of library.h, from 1 on.
CudnnGraph graph_of(const Convolution& shape, const ConvolutionParts& parts);

}  // namespace thalweg::engine::gpu
