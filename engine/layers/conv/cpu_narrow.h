// Weights' gradient of a convolution of few input channels, which oneDNN has no good kernel for
// where the inputs are volumes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/device/window.h"

namespace thalweg::engine::cpu {

/// What the kernel needs to know. Inputs are plain (n, c, d, h, w), output channels stand in blocks
/// of 16.
struct NarrowConv {
  Window window;
  std::int64_t samples = 0, blocks = 0;  ///< blocks: output channels / 16
};

/// Whether this machine has the kernel and it serves: volumes, few channels, whole blocks of
/// outputs.
bool serves_narrow(const Window& window, std::int64_t outputs);

std::size_t narrow_scratch_floats(const NarrowConv& c);

/// dw: (blocks, kd, kh, kw, c, 16), overwritten, as db: (blocks * 16); null: none. dy: (n, blocks,
/// od, oh, ow, 16).
void narrow_backward_weights(const NarrowConv& c, const float* x, const float* dy, float* dw,
                             float* db, float* scratch);

}  // namespace thalweg::engine::cpu
