// A first layer's images with 8 channels. In bf16 cuDNN's kernels for tensor cores want a multiple
// of 8: of images with fewer channels cuDNN makes a padded copy in its workspace, in forward and
// again for the gradient of the weights. The pass that brings the input to channels innermost can
// write 8 at once. The channels that are added hold zeros, so do their weights, and the gradients
// of those are left out.
#pragma once

#include <cstdint>

#include "engine/device/layer.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

inline constexpr std::int64_t padded_channels = 8;

/// Whether images of `channels` in `type` are padded where only convolutions take them. cuDNN's
/// first choice for one channel reads it as it is.
constexpr bool pads_channels(std::int64_t channels, gpu::Type type) {
  return type == gpu::Type::bf16 && channels > 1 && channels < padded_channels;
}

/// y (n, places, 8) from x (n, channels, places), fewer than 8.
void pad_images(gpu::Stream& stream, std::int64_t n, std::int64_t channels, std::int64_t places,
                const float* x, gpu::Bf16* y);
/// y (rows, 8) from x (rows, channels).
void pad_rows(gpu::Stream& stream, std::int64_t rows, std::int64_t channels, const gpu::Bf16* x,
              gpu::Bf16* y);
/// y (rows, channels) from x (rows, 8).
void strip_rows(gpu::Stream& stream, std::int64_t rows, std::int64_t channels, const float* x,
                float* y);

}  // namespace thalweg::engine::cuda
