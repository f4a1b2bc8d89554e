// layer_norm's backward in one pass over x and dy. For nvcc, and for tests that run kernels on the
// host (tests/support/cuda_on_host.h). The functors of cuda_kernels.cpp, which need two
// passes, are its truth.
#pragma once

#include <cstdint>

#include "engine/gpu/loops.h"
#include "engine/gpu/native.h"
#include "engine/layers/layer_norm/cuda_kernels.h"

namespace thalweg::engine::cuda {

template <class T>
struct RowsBackward {
  const T* x;
  T* dy;
  const T* before;  ///< null: nothing
  const float* weight;
  const RowMoments* moments;
  std::int64_t rows, packs;
  bool input;
  float* parts;  ///< (blocks, 2, features): of weight, then of bias
};

/// Both sums over a block of whole warps, for all its threads. One barrier: whoever calls it again
/// gives other shared memory, as of two turns.
template <int warps>
__device__ void add_up_block(float& sum, float& along, float (&shared)[2][warps]) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
    along += __shfl_xor_sync(0xffffffffu, along, step);
  }
  if (thread % 32 == 0) {
    shared[0][thread / 32] = sum;
    shared[1][thread / 32] = along;
  }
  __syncthreads();
  sum = along = 0;
  for (int warp = 0; warp < static_cast<int>(blockDim.x) / 32; ++warp) {
    sum += shared[0][warp];
    along += shared[1][warp];
  }
}

/// The next `width` of `values` as one pack.
template <int width>
__device__ void store_sums(const float* values, gpu::Pack<float, width>& to) {
  for (int k = 0; k < width; ++k)
    to.at[k] = values[k];
}

/// Adds the gradient of `width` numbers of x to dx.
template <class T, int width>
__device__ void add_gradient(const float* weighted, const float* normal, float mean, float along,
                             float inverse, gpu::Pack<T, width>& dx) {
  for (int k = 0; k < width; ++k) {
    const float here = inverse * (weighted[k] - mean - normal[k] * along);
    dx.at[k] = gpu::store<T>(here + gpu::load(dx.at[k]));
  }
}

/// Blocks of whole warps, 512 threads at most, of which a thread takes `own` packs of a row or
/// fewer; a block every n-th row. The next row is on its way while one is worked on.
template <int width, int own, class T>
__global__ void __launch_bounds__(512) layer_norm_backward_rows(RowsBackward<T> of) {
  using Packs = gpu::Pack<T, width>;
  using Floats = gpu::Pack<float, width>;
  __shared__ float shared[2][2][16];  // by rows in turn, so that one barrier a row is enough
  const int lane = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const auto features = static_cast<float>(of.packs * width);
  float d_weight[own * width] = {}, d_bias[own * width] = {};
  Packs x[own], dy[own];
  const auto fetch = [&](std::int64_t row) {
    for (int j = 0; j < own; ++j) {
      const std::int64_t p = lane + std::int64_t{j} * threads;
      if (row >= of.rows || p >= of.packs) continue;
      x[j] = reinterpret_cast<const Packs*>(of.x)[row * of.packs + p];
      dy[j] = reinterpret_cast<const Packs*>(of.dy)[row * of.packs + p];
    }
  };
  fetch(blockIdx.x);
  int turn = 0;
  for (std::int64_t row = blockIdx.x; row < of.rows; row += gridDim.x, turn = 1 - turn) {
    const RowMoments m = of.moments[row];
    float normal[own * width], weighted[own * width], sum = 0, along = 0;
    for (int j = 0; j < own; ++j) {
      const std::int64_t p = lane + std::int64_t{j} * threads;
      if (p >= of.packs) continue;
      const Floats weight = reinterpret_cast<const Floats*>(of.weight)[p];
      for (int k = 0; k < width; ++k) {
        const int i = j * width + k;
        const float here = gpu::load(dy[j].at[k]);
        normal[i] = (gpu::load(x[j].at[k]) - m.mean) * m.inverse;
        weighted[i] = here * weight.at[k];
        d_weight[i] += here * normal[i];
        d_bias[i] += here;
        sum += weighted[i];
        along += weighted[i] * normal[i];
      }
    }
    fetch(row + gridDim.x);
    add_up_block(sum, along, shared[turn]);
    if (!of.input) continue;
    sum /= features;
    along /= features;
    for (int j = 0; j < own; ++j) {
      const std::int64_t p = lane + std::int64_t{j} * threads;
      if (p >= of.packs) continue;
      Packs dx{};
      if (of.before != nullptr) dx = reinterpret_cast<const Packs*>(of.before)[row * of.packs + p];
      add_gradient(weighted + j * width, normal + j * width, sum, along, m.inverse, dx);
      reinterpret_cast<Packs*>(of.dy)[row * of.packs + p] = dx;
    }
  }
  auto* const parts = reinterpret_cast<Floats*>(of.parts) + 2 * of.packs * blockIdx.x;
  for (int j = 0; j < own; ++j) {
    const std::int64_t p = lane + std::int64_t{j} * threads;
    if (p >= of.packs) continue;
    store_sums<width>(d_weight + j * width, parts[p]);
    store_sums<width>(d_bias + j * width, parts[of.packs + p]);
  }
}

}  // namespace thalweg::engine::cuda
