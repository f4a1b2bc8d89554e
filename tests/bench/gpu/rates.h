// What a GPU does at most, which other numbers are shares of.
#pragma once

#include "engine/gpu/gpu.h"

namespace thalweg::engine::bench {

/// Of a copy within the GPU's memory, 2 GiB: bytes read and written.
double copy_gb_s(gpu::Gpu& machine, gpu::Stream& stream);

/// Of a bf16 product of 8192^3 by the library's first algorithm.
double product_tflop_s(gpu::Gpu& machine, gpu::Stream& stream);

}  // namespace thalweg::engine::bench
