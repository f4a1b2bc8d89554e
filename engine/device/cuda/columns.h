// Loops over tensors of (outer, rows, columns), channels or features innermost, in which each
// column has constants of its own or gets a sum. Neighbouring threads take neighbouring columns, 16
// bytes of them each where the columns divide so.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {

/// Sums and constants are of each column of each of `outer`.
struct Columns {
  std::int64_t outer = 1, rows = 0, columns = 0;
};

/// About what fills a GPU twice over: 132 multiprocessors of 2048 threads.
inline constexpr std::int64_t enough_threads = 1 << 18;

namespace columns {

/// A function of a column's constants and some values as one of the values alone.
template <class F>
struct Bound {
  const F& f;
  const typename F::Constants& constants;
  template <class... V>
  THALWEG_HOST_DEVICE float operator()(V... values) const {
    return f(constants, values...);
  }
};

template <int width, class T, class F, class S>
struct Map {
  F f;
  T* y;
  S x;
  std::int64_t packs, rows, together;  ///< packs of a row; rows that are under way at once
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t column = i % packs, first = i / packs % together,
                       outer = i / packs / together;
    typename F::Constants constants[width];
    for (int k = 0; k < width; ++k)
      constants[k] = f.at(outer, column * width + k);
    for (std::int64_t row = first; row < rows; row += together) {
      const std::int64_t p = (outer * rows + row) * packs + column;
      const auto in = x.template packs<width>(p);
      gpu::Pack<T, width> out;
      for (int k = 0; k < width; ++k)
        out.at[k] = gpu::store<T>(in.join(Bound<F>{f, constants[k]}, k));
      reinterpret_cast<gpu::Pack<T, width>*>(y)[p] = out;
    }
  }
};

template <class F>
struct Adding {
  const F& f;
  const typename F::Constants& constants;
  float* sums;
  template <class... V>
  THALWEG_HOST_DEVICE float operator()(V... values) const {
    return f.add(constants, sums, values...);
  }
};

/// What f.add returns: forgotten, or kept as a tensor.
struct Forgotten {
  template <int width>
  struct Packs {
    THALWEG_HOST_DEVICE void set(int, float) {}
  };
  template <int width>
  THALWEG_HOST_DEVICE void put(std::int64_t, const Packs<width>&) const {}
};
template <class T>
struct Kept {
  T* to;
  template <int width>
  struct Packs {
    gpu::Pack<T, width> values;
    THALWEG_HOST_DEVICE void set(int k, float value) { values.at[k] = gpu::store<T>(value); }
  };
  template <int width>
  THALWEG_HOST_DEVICE void put(std::int64_t p, const Packs<width>& packs) const {
    reinterpret_cast<gpu::Pack<T, width>*>(to)[p] = packs.values;
  }
};

/// A thread adds every slices-th row, from its own on.
template <int width, class F, class S, class R>
struct Slices {
  F f;
  S x;
  R returned;
  float* sums;  ///< (outer, slices, columns, F::sums)
  std::int64_t packs, rows, slices;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t column = i % packs, slice = i / packs % slices, outer = i / packs / slices;
    typename F::Constants constants[width];
    gpu::Pack<float, F::sums * width> out;
    for (int k = 0; k < width; ++k) {
      constants[k] = f.at(outer, slice, column * width + k);
      for (int s = 0; s < F::sums; ++s)
        out.at[k * F::sums + s] = 0;
    }
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (std::int64_t row = slice; row < rows; row += slices) {
      const std::int64_t p = (outer * rows + row) * packs + column;
      const auto in = x.template packs<width>(p);
      typename R::template Packs<width> result;
      for (int k = 0; k < width; ++k)
        result.set(k, in.join(Adding<F>{f, constants[k], out.at + k * F::sums}, k));
      returned.template put<width>(p, result);
    }
    for (int k = 0; k < width; ++k)
      f.end(constants[k], out.at + k * F::sums, (rows - slice + slices - 1) / slices);
    reinterpret_cast<gpu::Pack<float, F::sums * width>*>(sums)[i] = out;
  }
};

/// A thread as a team.
struct Alone {
  THALWEG_HOST_DEVICE int rank() const { return 0; }
  THALWEG_HOST_DEVICE int size() const { return 1; }
  THALWEG_HOST_DEVICE float sum(float mine) const { return mine; }
};
template <class F>
struct ByThread {
  F f;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const { f(Alone(), i); }
};

template <int width, class T, class F, class... X>
void map_packs(gpu::Queue& queue, const Columns& shape, const F& f, T* y, const X*... x) {
  const std::int64_t packs = shape.columns / width;
  const std::int64_t together =
      std::clamp<std::int64_t>(enough_threads / (packs * shape.outer), 1, shape.rows);
  using From = gpu::Sources<X...>;
  gpu::for_each(queue, shape.outer * together * packs,
                Map<width, T, F, From>{f, y, From::of(x...), packs, shape.rows, together});
}

}  // namespace columns

/// y = f(constants, x...) for every element, all floats. F::Constants f.at(outer, column) is read
/// once for many rows. y may be one of the x. Pointers are multiples of 64 bytes.
template <class T, class F, class... X>
void map_columns(gpu::Queue& queue, const Columns& shape, const F& f, T* y, const X*... x) {
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  if (shape.columns % width == 0) return columns::map_packs<width>(queue, shape, f, y, x...);
  columns::map_packs<1>(queue, shape, f, y, x...);
}

/// Into how many slices the rows are cut of which each gives a part of a sum: depends on the sizes
/// alone. A slice is long enough to be worth its place in memory, short enough for float.
inline std::int64_t slices_of(const Columns& shape) {
  // Threads with several reads of 8 elements under way each.
  constexpr std::int64_t shortest = 32, longest = 512, threads = 1 << 15;
  const std::int64_t slice =
      std::clamp(shape.outer * shape.rows * shape.columns / 8 / threads, shortest, longest);
  return (shape.rows + slice - 1) / slice;
}

/// Every slice's F::sums numbers of each column into `sums` (outer, slices_of, columns, F::sums):
/// f.add(constants, numbers, x...) for each of its elements, where F::Constants
/// f.at(outer, first row, column), then f.end(constants, numbers, count). What f.add returns goes
/// to `returned`, which may be one of the x.
template <class R, class T, class F, class... X>
void sum_slices_to(gpu::Queue& queue, const Columns& shape, const F& f, float* sums,
                   const R& returned, const T* x, const X*... rest) {
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  const std::int64_t slices = slices_of(shape);
  using From = gpu::Sources<T, X...>;
  const From from = From::of(x, rest...);
  if (shape.columns % width == 0) {
    const std::int64_t packs = shape.columns / width;
    gpu::for_each(
        queue, shape.outer * slices * packs,
        columns::Slices<width, F, From, R>{f, from, returned, sums, packs, shape.rows, slices});
  } else {
    gpu::for_each(
        queue, shape.outer * slices * shape.columns,
        columns::Slices<1, F, From, R>{f, from, returned, sums, shape.columns, shape.rows, slices});
  }
}
template <class T, class F, class... X>
void sum_slices(gpu::Queue& queue, const Columns& shape, const F& f, float* sums, const T* x,
                const X*... rest) {
  sum_slices_to(queue, shape, f, sums, columns::Forgotten(), x, rest...);
}

/// f(team, i) for every i below n, which adds `terms` numbers: by a thread where those are few.
template <class F>
void for_each_sum(gpu::Queue& queue, std::int64_t n, std::int64_t terms, const F& f) {
  constexpr std::int64_t few = 16;
  if (terms <= few) return gpu::for_each(queue, n, columns::ByThread<F>{f});
  const auto threads = static_cast<int>(std::min<std::int64_t>(256, (terms + 31) / 32 * 32));
  gpu::for_each_row(queue, n, threads, f);
}

}  // namespace thalweg::engine::cuda
