// What stands behind gpu(), gpu_count() and why_no_gpu(). For this room only.
#pragma once

#include <string>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

/// CUDA's machine: cuda.cpp, or no_cuda.cpp where the build found no CUDA.
Gpu& cuda_gpu(int number);
int cuda_count() noexcept;
std::string why_no_cuda();

/// Calls of the emulated machine.
const Library& emulated_library();

}  // namespace thalweg::engine::gpu
