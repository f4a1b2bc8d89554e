// Launches of kernels that are written for CUDA itself, where a functor of loops.h would not do:
// blocks that share memory. Only for text that nvcc compiles; the tests run such kernels on the
// host (tests/support/cuda_on_host.h).
#pragma once

#if defined(__CUDACC__)

#include "engine/gpu/loops.h"

namespace thalweg::engine::gpu {

/// Throws GpuError where the launch is refused.
template <class... Parameters, class... Arguments>
void launch(Stream& stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            const Arguments&... arguments) {
  kernel<<<grid, block, 0, static_cast<cudaStream_t>(stream.native())>>>(arguments...);
  check_launch();
}

}  // namespace thalweg::engine::gpu

#endif
