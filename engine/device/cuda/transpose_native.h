// Transposition through a block's shared memory: both sides are read and written in rows of 32. For
// nvcc, and for tests that run kernels on the host (tests/support/cuda_on_host.h).
#pragma once

#include <cstdint>

#include "engine/gpu/host_device.h"
#include "engine/gpu/native.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

/// y (n, columns, rows) from x (n, rows, columns). A block of (32, 8) threads: 32 rows of 32
/// columns. Grid: (columns / 32, some of rows / 32, some of n).
template <class X, class Y>
__global__ void __launch_bounds__(256)
    transpose_tiles(const X* x, Y* y, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  __shared__ float tile[32][33];  // one more: neighbours of a column lie in different banks
  const int lane = static_cast<int>(threadIdx.x), first = static_cast<int>(threadIdx.y);
  const std::int64_t left = std::int64_t{blockIdx.x} * 32;
  for (std::int64_t image = blockIdx.z; image < n; image += gridDim.z)
    for (std::int64_t top = std::int64_t{blockIdx.y} * 32; top < rows;
         top += std::int64_t{gridDim.y} * 32) {
      const X* const from = x + image * rows * columns;
      Y* const to = y + image * rows * columns;
      for (int i = first; i < 32; i += 8)
        if (top + i < rows && left + lane < columns)
          tile[i][lane] = gpu::load(from[(top + i) * columns + left + lane]);
      __syncthreads();
      for (int i = first; i < 32; i += 8)
        if (left + i < columns && top + lane < rows)
          to[(left + i) * rows + top + lane] = gpu::store<Y>(tile[lane][i]);
      __syncthreads();
    }
}

}  // namespace thalweg::engine::cuda
