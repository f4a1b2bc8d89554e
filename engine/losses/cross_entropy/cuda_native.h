// Cross-entropy of positions with many classes, a block each. For nvcc, and for tests that run
// kernels on the host (tests/support/cuda_on_host.h). The functor of cuda_kernels.cpp is
// its truth.
#pragma once

#include <cstdint>

#include "engine/gpu/native.h"
#include "engine/losses/cross_entropy/cuda_positions.h"
#include "engine/losses/cuda.h"

namespace thalweg::engine::cuda {

struct ThreadOfBlock {
  int number, threads;
  THALWEG_HOST_DEVICE int rank() const { return number; }
  THALWEG_HOST_DEVICE int size() const { return threads; }
};

/// A pack of classes from number `first` on: one power each, and one where the largest moves.
template <int width, class L, class G>
__device__ void take_pack(const Positions<width, L, G>& of, const gpu::Pack<L, width>& in,
                          int first, float of_label, Found& mine) {
  using P = Positions<width, L, G>;
  float v[width], largest = mine.largest;
  for (int k = 0; k < width; ++k) {
    v[k] = gpu::load(in.at[k]);
    largest = v[k] > largest ? v[k] : largest;
  }
  if (largest > mine.largest) {
    mine.sum *= P::power(mine.largest - largest);
    mine.largest = largest;
    for (int k = width - 1; k >= 0; --k)
      mine.best = v[k] == largest ? first + k : mine.best;
  }
  for (int k = 0; k < width; ++k) {
    mine.sum += P::power(v[k] - largest);
    mine.above += v[k] > of_label ? 1 : 0;
  }
  if (of.options.spread > 0)
    for (int k = 0; k < width; ++k)
      mine.weighted += of.weight(first + k) * (v[k] - of_label);
}

/// What two threads have found, the one of the lower number first: the same bits on either.
template <class P>
__device__ Found joined(const Found& a, const Found& b) {
  const float largest = a.largest > b.largest ? a.largest : b.largest;
  const int first = a.best < b.best ? a.best : b.best;
  return {largest, a.sum * P::power(a.largest - largest) + b.sum * P::power(b.largest - largest),
          a.weighted + b.weighted,
          a.largest > b.largest   ? a.best
          : b.largest > a.largest ? b.best
                                  : first,
          a.above + b.above};
}
template <class P>
__device__ Found join_warp(Found mine, int lane) {
  for (int step = 1; step < 32; step *= 2) {
    const auto other = [&](auto x) { return __shfl_xor_sync(0xffffffffu, x, step); };
    const Found theirs{other(mine.largest), other(mine.sum), other(mine.weighted), other(mine.best),
                       other(mine.above)};
    mine = (lane & step) != 0 ? joined<P>(theirs, mine) : joined<P>(mine, theirs);
  }
  return mine;
}

/// A block of whole warps, 512 threads at most, for each slice of positions. What the warps have
/// found lies in turns in either half of `shared`, so that a position needs one barrier.
template <int width, class L, class G>
__global__ void __launch_bounds__(512, 2)
    cross_entropy_rows(Positions<width, L, G> of, std::int64_t rows, std::int64_t slice,
                       LossSums* sums) {
  using P = Positions<width, L, G>;
  constexpr int ahead = 2;  // loads before the first is used
  __shared__ Found shared[2][16];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int threads = static_cast<int>(blockDim.x), packs = of.classes / width;
  const ThreadOfBlock group{thread, threads};
  LossSums mine{};
  int turn = 0;
  const std::int64_t first = blockIdx.x * slice;
  for (std::int64_t row = first; row < first + slice && row < rows; ++row) {
    const Wanted wanted = of.wanted(row);
    if (wanted.label == no_label) {
      of.leave_out(group, row);
      continue;
    }
    const auto* const x = reinterpret_cast<const typename P::Logits*>(of.logits + row * of.classes);
    Found found = of.nothing();
    for (int p = thread; p < packs; p += ahead * threads) {
      typename P::Logits in[ahead];
      for (int u = 0; u < ahead; ++u)
        if (p + u * threads < packs) in[u] = x[p + u * threads];
      for (int u = 0; u < ahead; ++u)
        if (p + u * threads < packs)
          take_pack(of, in[u], (p + u * threads) * width, wanted.of_label, found);
    }
    found = join_warp<P>(found, lane);
    if (lane == 0) shared[turn][thread / 32] = found;
    __syncthreads();
    found = join_warp<P>(lane < threads / 32 ? shared[turn][lane] : of.nothing(), lane);
    turn = 1 - turn;
    of.finish(group, row, wanted, found, mine.of);
  }
  if (thread == 0) sums[blockIdx.x] = mine;
}

}  // namespace thalweg::engine::cuda
