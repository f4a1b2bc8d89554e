// Our own loops on a GPU: a functor once, run by CUDA's threads or, on an emulated stream, by the
// host's. Files that call these are compiled by nvcc where there is one, else by the C++ compiler
// (thalweg_gpu_sources in CMake), and need no `<<<>>>` of their own.
//
// A functor holds pointers and numbers only and has `THALWEG_HOST_DEVICE` call operators.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/gpu/gpu.h"
#include "engine/gpu/host_device.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::gpu {

/// The threads that do a row together; on the host there is one.
class ThreadBlock {
 public:
  THALWEG_HOST_DEVICE int size() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(blockDim.x);
#else
    return 1;
#endif
  }
  THALWEG_HOST_DEVICE int rank() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }
  THALWEG_HOST_DEVICE void sync() const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }
  /// Every thread brings one number and gets the sum of all, added in a fixed order. All threads
  /// must call it.
  template <class T>
  THALWEG_HOST_DEVICE T sum(T mine) const {
    return reduce(mine, [](T a, T b) { return a + b; });
  }
  template <class T>
  THALWEG_HOST_DEVICE T max(T mine) const {
    return reduce(mine, [](T a, T b) { return a > b ? a : b; });
  }

 private:
  template <class T, class Join>
  THALWEG_HOST_DEVICE T reduce(T mine, const Join& join) const {
#if defined(__CUDA_ARCH__)
    // Warps of 32, then their results; thread blocks are multiples of 32.
    __shared__ T parts[32];
    for (int step = 16; step > 0; step /= 2)
      mine = join(mine, __shfl_xor_sync(0xffffffffu, mine, step));
    if (rank() % 32 == 0) parts[rank() / 32] = mine;
    __syncthreads();
    T all = parts[0];
    for (int warp = 1; warp < size() / 32; ++warp)
      all = join(all, parts[warp]);
    __syncthreads();
    return all;
#else
    (void)join;
    return mine;
#endif
  }
};

#if defined(__CUDACC__)
namespace kernels {
template <class F>
__global__ void each(std::int64_t n, F f) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step)
    f(i);
}
template <class F>
__global__ void each_row(std::int64_t rows, F f) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    f(ThreadBlock(), row);
}
}  // namespace kernels
/// Throws GpuError where the last launch was refused.
void check_launch();
#endif

/// f(i) for every i below n, in any order.
template <class F>
void for_each(Stream& stream, std::int64_t n, const F& f) {
  if (n <= 0) return;
  if (stream.emulated())
    return stream.on_host([n, f] {
      for (std::int64_t i = 0; i < n; ++i)
        f(i);
    });
#if defined(__CUDACC__)
  constexpr int threads = 256;
  const std::int64_t wanted = (n + threads - 1) / threads;
  const auto blocks = static_cast<unsigned>(wanted < (1 << 20) ? wanted : (1 << 20));
  kernels::each<<<blocks, threads, 0, static_cast<cudaStream_t>(stream.native())>>>(n, f);
  check_launch();
#endif
}

/// f(block, row) for every row, a block of `threads` (a multiple of 32, at most 1024) each.
template <class F>
void for_each_row(Stream& stream, std::int64_t rows, int threads, const F& f) {
  if (rows <= 0) return;
  if (stream.emulated())
    return stream.on_host([rows, f] {
      for (std::int64_t row = 0; row < rows; ++row)
        f(ThreadBlock(), row);
    });
#if defined(__CUDACC__)
  const auto blocks = static_cast<unsigned>(rows < (1 << 20) ? rows : (1 << 20));
  kernels::each_row<<<blocks, static_cast<unsigned>(threads), 0,
                      static_cast<cudaStream_t>(stream.native())>>>(rows, f);
  check_launch();
#else
  (void)threads;
#endif
}

/// `count` neighbours of one type, moved in accesses of 16 bytes.
template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T at[count];
};

/// work(T{}, std::integral_constant<int, width>()) with as many neighbours as fill 16 bytes where
/// `count` is a multiple of that, else with 1.
template <class Work>
void with_packs(Type type, std::int64_t count, const Work& work) {
  with_type(type, [&](auto t) {
    constexpr int width = 16 / static_cast<int>(sizeof t);
    if (count % width == 0) return work(t, std::integral_constant<int, width>());
    work(t, std::integral_constant<int, 1>());
  });
}

/// What map() reads: a pointer each.
template <class... X>
struct Sources {
  static Sources of() { return {}; }
  template <int width>
  struct Packs {
    template <class F, class... V>
    THALWEG_HOST_DEVICE float join(const F& f, int, V... values) const {
      return f(values...);
    }
  };
  template <int width>
  THALWEG_HOST_DEVICE Packs<width> packs(std::int64_t) const {
    return {};
  }
};
template <class First, class... Rest>
struct Sources<First, Rest...> {
  const First* first;
  Sources<Rest...> rest;
  static Sources of(const First* first, const Rest*... rest) {
    return {first, Sources<Rest...>::of(rest...)};
  }

  template <int width>
  struct Packs {
    Pack<First, width> first;
    typename Sources<Rest...>::template Packs<width> rest;
    template <class F, class... V>
    THALWEG_HOST_DEVICE float join(const F& f, int k, V... values) const {
      return rest.join(f, k, values..., load(first.at[k]));
    }
  };
  /// Elements p * width and its neighbours of each.
  template <int width>
  THALWEG_HOST_DEVICE Packs<width> packs(std::int64_t p) const {
    return {reinterpret_cast<const Pack<First, width>*>(first)[p], rest.template packs<width>(p)};
  }
};
template <int width, class T, class F, class S>
struct Mapped {
  F f;
  T* y;
  S x;
  std::int64_t offset;  ///< in packs
  THALWEG_HOST_DEVICE void operator()(std::int64_t p) const {
    const auto in = x.template packs<width>(offset + p);
    Pack<T, width> out;
    for (int k = 0; k < width; ++k)
      out.at[k] = store<T>(in.join(f, k));
    reinterpret_cast<Pack<T, width>*>(y)[offset + p] = out;
  }
};

/// y[i] = f(x0[i], x1[i], ...), all floats to f, i below n. y may be one of the x. Every pointer is
/// a multiple of 64 bytes. A thread takes as many neighbours as fill 16 bytes of y.
template <class T, class F, class... X>
void map(Stream& stream, std::int64_t n, const F& f, T* y, const X*... x) {
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  using From = Sources<X...>;
  const From from = From::of(x...);
  const std::int64_t packs = n / width;
  for_each(stream, packs, Mapped<width, T, F, From>{f, y, from, 0});
  for_each(stream, n - packs * width, Mapped<1, T, F, From>{f, y, from, packs * width});
}

}  // namespace thalweg::engine::gpu
