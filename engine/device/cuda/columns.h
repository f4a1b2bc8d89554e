// Loops over tensors of (outer, rows, columns), channels or features innermost, in which each
// column has constants of its own or is reduced. Neighbouring threads take neighbouring columns, 16
// bytes of them each where the columns divide so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "engine/device/cuda/column_sums.h"
#include "engine/gpu/loops.h"
#include "engine/gpu/native.h"
#if defined(__CUDACC__)
#include "engine/device/cuda/column_sums_native.h"
#include "engine/device/cuda/columns_native.h"
#endif

namespace thalweg::engine::cuda {

namespace columns {

/// How the threads of a GPU share out rows of packs of columns.
struct MapCut {
  std::int64_t together = 1;  ///< rows that are under way at once
  // The same in blocks, for columns_native.h.
  int tile = 1, strands = 1;           ///< packs and rows of a block
  std::int64_t tiles = 1, blocks = 1;  ///< blocks over the packs and over the rows
};
inline MapCut cut_map(const Columns& shape, int width) {
  // What a GPU holds at once: 132 multiprocessors of two blocks of 256; at least four rows each.
  constexpr std::int64_t threads = 1 << 16, block = 256;
  const std::int64_t packs = std::max<std::int64_t>(shape.columns / width, 1);
  MapCut cut;
  cut.together = std::clamp<std::int64_t>(
      threads / (packs * std::max<std::int64_t>(shape.outer, 1)), 1, (shape.rows + 3) / 4);
  const std::int64_t tiles = (packs + block - 1) / block;
  cut.tile = static_cast<int>((packs + tiles - 1) / tiles);
  cut.strands = static_cast<int>(std::min(block / cut.tile, cut.together));
  cut.tiles = (packs + cut.tile - 1) / cut.tile;
  cut.blocks = (cut.together + cut.strands - 1) / cut.strands;
  return cut;
}

/// A thread takes the same columns of every n-th row, several rows' loads before the first
/// of them is used.
template <int width, class T, class F, class S>
struct Map {
  F f;
  T* y;
  S x;
  std::int64_t outer, rows;
  std::uint32_t packs, together;  ///< packs of a row; rows that are under way at once

  using Read = typename S::template Packs<width>;
  using Constants = typename F::template Constants<width>;

  THALWEG_HOST_DEVICE void put(const Constants& constants, std::int64_t p, const Read& in) const {
    gpu::Pack<T, width> out;
    for (int k = 0; k < width; ++k) {
      const auto value = [&](auto... values) {
        return f.template value<width>(constants, k, values...);
      };
      out.at[k] = gpu::store<T>(in.join(value, k));
    }
    reinterpret_cast<gpu::Pack<T, width>*>(y)[p] = out;
  }
  /// Every `apart`-th row of a pack of columns, from `row` on.
  THALWEG_HOST_DEVICE void take(std::int64_t o, std::uint32_t column, std::int64_t row,
                                std::int64_t apart) const {
    if (row >= rows) return;
    const Constants constants = f.template at<width>(o, std::int64_t{column} * width);
    const std::int64_t step = apart * packs;
    std::int64_t p = (o * rows + row) * packs + column;
    for (; row + 3 * apart < rows; row += 4 * apart) {
      Read in[4];
      for (int u = 0; u < 4; ++u)
        in[u] = x.template packs<width>(p + u * step);
      for (int u = 0; u < 4; ++u)
        put(constants, p + u * step, in[u]);
      p += 4 * step;
    }
    for (; row < rows; row += apart, p += step)
      put(constants, p, x.template packs<width>(p));
  }
  /// What thread number i would do, on the host.
  void operator()(std::int64_t i) const {
    take(i / packs / together, static_cast<std::uint32_t>(i % packs), i / packs % together,
         together);
  }
};

template <int width, class T, class F, class... X>
void map_packs(gpu::Stream& stream, const Columns& shape, const F& f, T* y, const X*... x) {
  const std::int64_t packs = shape.columns / width;
  if (packs * width >= std::int64_t{1} << 32)
    throw std::length_error("a tensor of too many columns");
  const MapCut cut = cut_map(shape, width);
  using From = gpu::Sources<X...>;
  const Map<width, T, F, From> map{f,
                                   y,
                                   From::of(x...),
                                   shape.outer,
                                   shape.rows,
                                   static_cast<std::uint32_t>(packs),
                                   static_cast<std::uint32_t>(cut.together)};
  if (stream.emulated())
    return stream.on_host([map, all = shape.outer * cut.together * packs] {
      for (std::int64_t i = 0; i < all; ++i)
        map(i);
    });
#if defined(__CUDACC__)
  const auto upto = [](std::int64_t n) {  // of a grid's second and third number
    return static_cast<unsigned>(std::min<std::int64_t>(n, 65535));
  };
  gpu::launch(stream, map_rows<Map<width, T, F, From>>,
              dim3(static_cast<unsigned>(cut.tiles), upto(cut.blocks), upto(shape.outer)),
              dim3(static_cast<unsigned>(cut.tile), static_cast<unsigned>(cut.strands)), map);
#endif
}

}  // namespace columns

/// y = f.value<width>(constants, k, x...) for every element, all floats, where constants are
/// F::Constants<width> f.at<width>(outer, column), of `width` neighbouring columns, of which the
/// element is number k; they are read once for many rows. y may be one of the x. Pointers are
/// multiples of 64 bytes.
template <class T, class F, class... X>
void map_columns(gpu::Stream& stream, const Columns& shape, const F& f, T* y, const X*... x) {
  if (shape.outer * shape.rows * shape.columns <= 0) return;
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  if (shape.columns % width == 0) return columns::map_packs<width>(stream, shape, f, y, x...);
  columns::map_packs<1>(stream, shape, f, y, x...);
}

namespace columns {

template <int width, class F, class End, class S, class R>
void reduce_packs(gpu::Stream& stream, const SliceSums<width, F, S, R>& sums,
                  const JoinSlices<F, End>& join) {
  if (stream.emulated()) {
    stream.on_host([sums, join] {
      const BlockOnHost<width, F, End, S, R> block{sums, join.end};
      for (std::int64_t b = 0; b < sums.blocks(); ++b)
        block(b);
    });
    if (sums.cut.slices == 1) return;
    return stream.on_host([join] {
      for (std::int64_t c = 0; c < join.outer * join.columns; ++c)
        join(c);
    });
  }
#if defined(__CUDACC__)
  launch_reduction(stream, sums, join);
#endif
}

}  // namespace columns

/// Reduces the rows of every column of x... to F::sums numbers, in an order that depends on the
/// sizes alone, the same on the host and on a GPU, and hands them to end(outer, column, sums):
/// f.add<width>(constants, k, sums, x...) for each element, where constants are
/// F::Constants<width> f.at<width>(outer, first row, column); f.end<width>(constants, k, sums,
/// count) when a thread is through with its rows; F::merge(sums, n, others, m) joins the sums of n
/// rows with those of m. What f.add returns goes to `returned`, which may be one of the x.
/// `parts`: memory of column_parts() floats.
template <class F, class End, class R, class T, class... X>
void reduce_columns_to(gpu::Stream& stream, const Columns& shape, const F& f, const End& end,
                       float* parts, const R& returned, const T* x, const X*... rest) {
  if (shape.outer * shape.columns <= 0) return;
  using From = gpu::Sources<T, X...>;
  const From from = From::of(x, rest...);
  const auto go = [&](auto w) {
    constexpr int width = decltype(w)::value;
    const RowCut cut = cut_rows(shape, width);
    const columns::SliceSums<width, F, From, R> sums{
        f, from, returned, parts, shape.columns / width, shape, cut};
    columns::reduce_packs(
        stream, sums,
        columns::JoinSlices<F, End>{parts, shape.outer, shape.rows, shape.columns, cut, end});
  };
  constexpr int width = 16 / static_cast<int>(sizeof(T));
  if (shape.columns % width == 0) return go(std::integral_constant<int, width>());
  go(std::integral_constant<int, 1>());
}
template <class F, class End, class T, class... X>
void reduce_columns(gpu::Stream& stream, const Columns& shape, const F& f, const End& end,
                    float* parts, const T* x, const X*... rest) {
  reduce_columns_to(stream, shape, f, end, parts, columns::Forgotten(), x, rest...);
}

}  // namespace thalweg::engine::cuda
