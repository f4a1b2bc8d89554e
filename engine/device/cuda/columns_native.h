// The kernel of the maps of columns.h. For nvcc, and for tests that run kernels on the host
// (tests/support/cuda_on_host.h).
#pragma once

#include <cstdint>

#include "engine/gpu/native.h"

namespace thalweg::engine::cuda::columns {

/// A block of (MapCut::tile, MapCut::strands) threads: where a thread stands follows from its
/// block, without the divisions of the functor. Grid: (MapCut::tiles, MapCut::blocks, some of
/// outer). M: a Map.
template <class M>
__global__ void __launch_bounds__(256, 2) map_rows(M of) {
  const std::uint32_t column = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t first = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= of.packs) return;
  for (std::int64_t outer = blockIdx.z; outer < of.outer; outer += gridDim.z)
    of.take(outer, column, first, gridDim.y * blockDim.y);
}

}  // namespace thalweg::engine::cuda::columns
