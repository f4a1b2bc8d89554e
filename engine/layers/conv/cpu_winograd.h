// Convolutions of 3x3 windows and stride 1 by Winograd's algorithm F(4x4, 3x3) (Lavin and Gray,
// Fast Algorithms for Convolutional Neural Networks, CVPR 2016): 36 multiplications where 144 are
// due. oneDNN's has the transformed weights of a layer in memory, which for many channels and few
// pixels takes longer than all the arithmetic; here a part of them is made, used and forgotten. For
// one thread; results depend on nothing but the arguments. Errors: tests/engine/nn/winograd_test.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg::engine::cpu {

/// Images in blocks of 16 channels (n, c / 16, h, w, 16); weights (out / 16, in / 16, 3, 3, 16 in,
/// 16 out), which oneDNN calls aBcd16b and ABcd16b16a. Channels are multiples of 16.
struct Winograd {
  std::int64_t samples = 0, in = 0, out = 0;  ///< channels
  std::int64_t height = 0, width = 0;         ///< of the input
  std::int64_t padding = 0;                   ///< 0, 1 or 2

  std::int64_t out_height() const { return height + 2 * padding - 2; }
  std::int64_t out_width() const { return width + 2 * padding - 2; }
};

/// Whether this machine has the kernels and they take such channels and padding.
bool serves_winograd(const Winograd& w);
/// Whether they are expected to be faster than the direct kernels, by a rule measured on Zen 5: the
/// transforms pay from some channels on.
bool winograd_pays(const Winograd& w);

/// Memory that each of the three needs while it runs.
std::size_t winograd_scratch_floats(const Winograd& w);

/// y = x * weights + bias (null: none), then max(y, 0) where `relu`.
void winograd_forward(const Winograd& w, const float* x, const float* weights, const float* bias,
                      bool relu, float* y, float* scratch);
/// The gradient of x from that of y.
void winograd_backward_data(const Winograd& w, const float* dy, const float* weights, float* dx,
                            float* scratch);
/// The gradients of weights and bias (null: none), overwritten.
void winograd_backward_weights(const Winograd& w, const float* x, const float* dy, float* dw,
                               float* db, float* scratch);

}  // namespace thalweg::engine::cpu
