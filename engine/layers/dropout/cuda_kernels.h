// dropout over a tensor (samples, places, channels): its mask is drawn by the number of an element
// in the order (samples, channels, places), wherever it lies. A function of a stream, the GPU's
// memory and sizes; nothing is waited for.
#pragma once

#include <cstdint>

#include "engine/device/device.h"
#include "engine/device/dropout_mask.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

struct DropoutShape {
  std::int64_t samples = 0, channels = 1, places = 1;
};

/// y = x * scale where the mask lets it pass, else 0. y may be x; both begin at multiples of 64
/// bytes.
void dropout(gpu::Stream& stream, gpu::Type type, const DropoutShape& shape,
             const DropoutMask& mask, float scale, const ShardKey* key, const void* x, void* y);

}  // namespace thalweg::engine::cuda
