// A network's first convolution in bf16: 3x3 windows over images of one to three channels, which
// oneDNN's bf16 kernels for more channels do slower than floats would be. Takes the caller's floats
// as they are; values and their gradients are bf16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/device/window.h"
#include "engine/tensor/half.h"

namespace thalweg::engine::cpu {

/// Inputs are plain (n, c, h, w); outputs (n, out / 16, oh, ow, 16), or (n, oh, ow, out) where
/// `innermost`; weights (out / 16, 3, 3, c, 16).
struct StemConv {
  Window window;
  std::int64_t samples = 0, outputs = 0;  ///< outputs: channels, a multiple of 16
  bool innermost = false;                 ///< channels of the outputs
};

/// Whether this machine has the kernels and they take the window.
bool serves_stem(const Window& window, std::int64_t outputs);

/// Memory that each of the two needs while it runs.
std::size_t stem_scratch_floats(const StemConv& c);

/// y = x * weights + bias (null: none), then max(y, 0) where `relu`.
void stem_forward(const StemConv& c, const float* x, const float* weights, const float* bias,
                  bool relu, Bf16* y, float* scratch);
/// The gradients of weights and bias (null: none), overwritten.
void stem_backward_weights(const StemConv& c, const float* x, const Bf16* dy, float* dw, float* db,
                           float* scratch);

}  // namespace thalweg::engine::cpu
