// Kernels of the reductions of column_sums.h. For nvcc, and for tests that run kernels on the host
// (tests/support/cuda_on_host.h).
#pragma once

#include "engine/device/cuda/column_sums.h"
#include "engine/gpu/native.h"

namespace thalweg::engine::cuda::columns {

/// A block of (tile, strands) threads: a slice of `tile` packs of columns. Grid: (tiles, slices,
/// some of outer).
template <int width, class F, class End, class S, class R>
__global__ void __launch_bounds__(256, 2) add_slices(SliceSums<width, F, S, R> of, End end) {
  constexpr int numbers = F::sums * width;
  __shared__ float shared[numbers][256];
  __shared__ float counts[256];
  const int strand = static_cast<int>(threadIdx.y),
            here = strand * of.cut.tile + static_cast<int>(threadIdx.x);
  const std::int64_t pack = std::int64_t{blockIdx.x} * of.cut.tile + threadIdx.x,
                     slice = blockIdx.y;
  const bool inside = pack < of.packs;
  for (std::int64_t outer = blockIdx.z; outer < of.shape.outer; outer += gridDim.z) {
    float sums[numbers], n = 0;
    if (inside) n = static_cast<float>(of.add(outer, slice, strand, pack, sums));
    for (int half = first_round(of.cut.strands); half > 0; half /= 2) {
      const bool gives = strand >= half && strand < 2 * half;
      if (gives && inside) {
        for (int i = 0; i < numbers; ++i)
          shared[i][here] = sums[i];
        counts[here] = n;
      }
      __syncthreads();
      const int other = here + half * of.cut.tile;
      if (inside && strand < half && strand + half < of.cut.strands && counts[other] > 0) {
        for (int k = 0; k < width; ++k) {
          float theirs[F::sums];
          for (int s = 0; s < F::sums; ++s)
            theirs[s] = shared[k * F::sums + s][other];
          F::merge(sums + k * F::sums, n, theirs, counts[other]);
        }
        n += counts[other];
      }
    }
    if (inside && strand == 0) of.put(outer, slice, pack, sums, end);
    __syncthreads();
  }
}

/// A block of (32, 32) threads: 32 columns, by 32 strands. Grid: (columns / 32, some of outer).
template <class F, class End>
__global__ void __launch_bounds__(1024) join_slices(JoinSlices<F, End> of) {
  __shared__ float shared[F::sums][32][32];
  __shared__ float counts[32][32];
  const int lane = static_cast<int>(threadIdx.x), strand = static_cast<int>(threadIdx.y);
  const std::int64_t column = std::int64_t{blockIdx.x} * 32 + lane;
  const bool inside = column < of.columns;
  for (std::int64_t outer = blockIdx.y; outer < of.outer; outer += gridDim.y) {
    float sums[F::sums], n = 0;
    if (inside) n = of.add(outer, column, strand, sums);
    for (int half = 16; half > 0; half /= 2) {
      if (inside && strand >= half && strand < 2 * half) {
        for (int s = 0; s < F::sums; ++s)
          shared[s][strand][lane] = sums[s];
        counts[strand][lane] = n;
      }
      __syncthreads();
      if (inside && strand < half && counts[strand + half][lane] > 0) {
        float theirs[F::sums];
        for (int s = 0; s < F::sums; ++s)
          theirs[s] = shared[s][strand + half][lane];
        F::merge(sums, n, theirs, counts[strand + half][lane]);
        n += counts[strand + half][lane];
      }
    }
    if (inside && strand == 0) of.end(outer, column, sums);
    __syncthreads();
  }
}

#if defined(__CUDACC__)
template <int width, class F, class End, class S, class R>
void launch_reduction(gpu::Stream& stream, const SliceSums<width, F, S, R>& sums,
                      const JoinSlices<F, End>& join) {
  const auto upto = [](std::int64_t n) {  // of a grid's second and third number
    return static_cast<unsigned>(std::min<std::int64_t>(n, 65535));
  };
  const auto tile = static_cast<unsigned>(sums.cut.tile),
             strands = static_cast<unsigned>(sums.cut.strands);
  gpu::launch(stream, add_slices<width, F, End, S, R>,
              dim3(static_cast<unsigned>(sums.tiles()), static_cast<unsigned>(sums.cut.slices),
                   upto(sums.shape.outer)),
              dim3(tile, strands), sums, join.end);
  if (sums.cut.slices == 1) return;
  gpu::launch(stream, join_slices<F, End>,
              dim3(static_cast<unsigned>((join.columns + 31) / 32), upto(join.outer)), dim3(32, 32),
              join);
}
#endif

}  // namespace thalweg::engine::cuda::columns
