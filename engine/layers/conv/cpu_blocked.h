// Weights' gradient of a convolution in blocks of 16 channels, as sums of outer products. For
// windows nearly as large as the volume, which oneDNN has no kernel for in these layouts: its own
// goes by the plain ones and takes several times the weights' memory. Of bf16 values it has one,
// whose preparations take several times as long as these sums of floats.
#pragma once

#include <cstdint>

#include "engine/device/window.h"
#include "engine/tensor/half.h"

namespace thalweg::engine::cpu {

/// Channels, of the window's input and of its output, are multiples of 16.
struct BlockedConv {
  Window window;
  std::int64_t samples = 0, outputs = 0;  ///< outputs: channels
};

/// Whether this machine has the kernel and the channels are whole blocks.
bool serves_blocked(const Window& window, std::int64_t outputs);

/// Whether no output's window lies inside the input.
bool wider_than_input(const Window& window);

/// As floats in blocks, (n, c / 16, pixels, 16): bf16 values that lie so, or (n, pixels, c) where
/// `innermost`.
void floats_in_blocks(const Bf16* from, std::int64_t samples, std::int64_t channels,
                      std::int64_t pixels, bool innermost, float* to);

/// dw: (out / 16, in / 16, kd, kh, kw, 16 in, 16 out), overwritten, as db (out); null: none. x: (n,
/// in / 16, d, h, w, 16), dy: (n, out / 16, od, oh, ow, 16).
void blocked_backward_weights(const BlockedConv& c, const float* x, const float* dy, float* dw,
                              float* db);

}  // namespace thalweg::engine::cpu
