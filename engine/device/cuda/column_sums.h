// How the rows of columns are reduced: cut into slices, of which a block takes one for some
// columns; its threads add rows in turn, then join what they have in pairs; the slices are joined
// likewise. One text for the host and for the kernels of column_sums_native.h, which give the same
// bits but for multiplications and additions that a GPU does in one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {

/// A tensor of (outer, rows, columns): sums and constants are of each column of each of `outer`.
struct Columns {
  std::int64_t outer = 1, rows = 0, columns = 0;
};

/// What follows from the sizes alone.
struct RowCut {
  int tile = 1;                        ///< packs of columns of a block
  int strands = 1;                     ///< rows that a block has under way
  std::int64_t slices = 1, chunk = 1;  ///< slices and their rows; the last may be shorter
  THALWEG_HOST_DEVICE std::int64_t count(std::int64_t slice, std::int64_t rows) const {
    const std::int64_t left = rows - slice * chunk;
    return left < chunk ? left : chunk;
  }
};

/// `width` columns to a thread.
inline RowCut cut_rows(const Columns& shape, int width) {
  // 512 blocks of 256 threads are two rounds of a large GPU; a thread adds 4 rows at least, for one
  // block may have 16; 512 at most, for the sake of float.
  constexpr std::int64_t blocks = 512, fewest = 4, alone = 16, most = 512, grid = 65535;
  RowCut cut;
  const std::int64_t packs = std::max<std::int64_t>(shape.columns / width, 1);
  cut.tile = static_cast<int>(std::min<std::int64_t>(packs, 32));
  cut.strands = 256 / cut.tile;
  if (shape.rows > alone * cut.strands) {
    const std::int64_t beside =
        (packs + cut.tile - 1) / cut.tile * std::max<std::int64_t>(shape.outer, 1);
    const auto of = [&](std::int64_t rows) {
      return (shape.rows + rows * cut.strands - 1) / (rows * cut.strands);
    };
    cut.slices = std::max(std::clamp<std::int64_t>(blocks / beside, 1, of(fewest)), of(most));
    cut.slices = std::min(cut.slices, grid);
  }
  cut.chunk = std::max<std::int64_t>((shape.rows + cut.slices - 1) / cut.slices, 1);
  cut.slices = std::max<std::int64_t>((shape.rows + cut.chunk - 1) / cut.chunk, 1);
  return cut;
}

/// Floats that a reduction to `sums` numbers needs on its way, whatever the type of x.
inline std::int64_t column_parts(const Columns& shape, int sums) {
  std::int64_t slices = 1;
  for (const int width : {1, 4, 8})
    if (shape.columns % width == 0) slices = std::max(slices, cut_rows(shape, width).slices);
  return shape.outer * slices * shape.columns * sums;
}

/// What is reduced to its sum.
struct PlainSum {
  static constexpr int sums = 1;
  template <int width>
  struct Constants {};
  template <int width>
  THALWEG_HOST_DEVICE Constants<width> at(std::int64_t, std::int64_t, std::int64_t) const {
    return {};
  }
  template <int width>
  THALWEG_HOST_DEVICE float add(const Constants<width>&, int, float* into, float x) const {
    return into[0] += x;
  }
  template <int width>
  THALWEG_HOST_DEVICE void end(const Constants<width>&, int, float*, std::int64_t) const {}
  THALWEG_HOST_DEVICE static void merge(float* into, float, const float* from, float) {
    into[0] += from[0];
  }
};

namespace columns {

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

/// One slice of one pack of columns.
template <int width, class F, class S, class R>
struct SliceSums {
  F f;
  S x;
  R returned;
  float* parts;  ///< (outer, slices, columns, F::sums)
  std::int64_t packs;
  Columns shape;
  RowCut cut;

  static constexpr int numbers = F::sums * width;
  using Read = typename S::template Packs<width>;
  using Constants = typename F::template Constants<width>;

  std::int64_t tiles() const { return (packs + cut.tile - 1) / cut.tile; }
  std::int64_t blocks() const { return tiles() * cut.slices * shape.outer; }

  THALWEG_HOST_DEVICE void take(const Constants& constants, std::int64_t p, const Read& in,
                                float* sums) const {
    typename R::template Packs<width> result;
    for (int k = 0; k < width; ++k) {
      const auto add = [&](auto... values) {
        return f.template add<width>(constants, k, sums + k * F::sums, values...);
      };
      result.set(k, in.join(add, k));
    }
    returned.template put<width>(p, result);
  }
  /// Every strands-th row of a slice, from number `strand` on; how many those are.
  THALWEG_HOST_DEVICE std::int64_t add(std::int64_t outer, std::int64_t slice, int strand,
                                       std::int64_t pack, float* sums) const {
    for (int i = 0; i < numbers; ++i)
      sums[i] = 0;
    const std::int64_t first = slice * cut.chunk + strand;
    const std::int64_t end = slice * cut.chunk + cut.count(slice, shape.rows);
    if (first >= end) return 0;
    const Constants constants = f.template at<width>(outer, first, pack * width);
    const std::int64_t strands = cut.strands, step = strands * packs;
    std::int64_t p = (outer * shape.rows + first) * packs + pack, row = first;
    for (; row + 3 * strands < end; row += 4 * strands) {
      Read in[4];
      for (int u = 0; u < 4; ++u)
        in[u] = x.template packs<width>(p + u * step);
      for (int u = 0; u < 4; ++u)
        take(constants, p + u * step, in[u], sums);
      p += 4 * step;
    }
    for (; row < end; row += strands, p += step)
      take(constants, p, x.template packs<width>(p), sums);
    const std::int64_t count = (end - first + strands - 1) / strands;
    for (int k = 0; k < width; ++k)
      f.template end<width>(constants, k, sums + k * F::sums, count);
    return count;
  }
  /// What the threads of a block have found together.
  template <class End>
  THALWEG_HOST_DEVICE void put(std::int64_t outer, std::int64_t slice, std::int64_t pack,
                               const float* sums, const End& end) const {
    if (cut.slices == 1) {
      for (int k = 0; k < width; ++k)
        end(outer, pack * width + k, sums + k * F::sums);
      return;
    }
    gpu::Pack<float, numbers> out;
    for (int i = 0; i < numbers; ++i)
      out.at[i] = sums[i];
    reinterpret_cast<gpu::Pack<float, numbers>*>(
        parts)[(outer * cut.slices + slice) * packs + pack] = out;
  }
};

/// How many are joined in the first round in which pairs of `strands` are: half of them, rounded up
/// to a power of two.
THALWEG_HOST_DEVICE inline int first_round(int strands) {
  int half = 1;
  while (2 * half < strands)
    half *= 2;
  return half;
}

/// Columns have their slices joined by strands of 32, which are joined in pairs.
template <class F, class End>
struct JoinSlices {
  static constexpr int strands = 32;
  const float* parts;
  std::int64_t outer, rows, columns;
  RowCut cut;
  End end;

  /// Every 32nd slice, from number `strand` on; how many rows those have.
  THALWEG_HOST_DEVICE float add(std::int64_t o, std::int64_t column, int strand,
                                float* sums) const {
    for (int s = 0; s < F::sums; ++s)
      sums[s] = 0;
    float n = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (std::int64_t slice = strand; slice < cut.slices; slice += strands) {
      const auto* from = reinterpret_cast<const gpu::Pack<float, F::sums>*>(parts);
      const auto part = from[(o * cut.slices + slice) * columns + column];
      const auto m = static_cast<float>(cut.count(slice, rows));
      F::merge(sums, n, part.at, m);
      n += m;
    }
    return n;
  }
  /// The whole of column number i, on the host.
  void operator()(std::int64_t i) const {
    float sums[strands][F::sums], n[strands];
    for (int t = 0; t < strands; ++t)
      n[t] = add(i / columns, i % columns, t, sums[t]);
    for (int half = strands / 2; half > 0; half /= 2)
      for (int t = 0; t < half; ++t)
        if (n[t + half] > 0) {
          F::merge(sums[t], n[t], sums[t + half], n[t + half]);
          n[t] += n[t + half];
        }
    end(i / columns, i % columns, sums[0]);
  }
};

/// What a block of column_sums_native.h does, in the same order, without threads.
template <int width, class F, class End, class S, class R>
struct BlockOnHost {
  SliceSums<width, F, S, R> of;
  End end;
  void operator()(std::int64_t block) const {
    const std::int64_t tiles = of.tiles(), tile = block % tiles,
                       slice = block / tiles % of.cut.slices, outer = block / tiles / of.cut.slices;
    const std::int64_t first = tile * of.cut.tile;
    const std::int64_t last = std::min<std::int64_t>(first + of.cut.tile, of.packs);
    for (std::int64_t pack = first; pack < last; ++pack) {
      float sums[256][F::sums * width], n[256];
      for (int t = 0; t < of.cut.strands; ++t)
        n[t] = static_cast<float>(of.add(outer, slice, t, pack, sums[t]));
      for (int half = first_round(of.cut.strands); half > 0; half /= 2)
        for (int t = 0; t < half && t + half < of.cut.strands; ++t)
          if (n[t + half] > 0) {
            for (int k = 0; k < width; ++k)
              F::merge(sums[t] + k * F::sums, n[t], sums[t + half] + k * F::sums, n[t + half]);
            n[t] += n[t + half];
          }
      of.put(outer, slice, pack, sums[0], end);
    }
  }
};

}  // namespace columns
}  // namespace thalweg::engine::cuda
