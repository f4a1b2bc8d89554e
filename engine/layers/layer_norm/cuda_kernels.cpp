// layer_norm: a block for each row, mean and deviation kept for backward. The gradients of weight
// and bias are sums over slices of rows, then over slices. A thread takes 16 bytes of neighbouring
// features where rows divide so. A GPU's backward is the kernel of cuda_native.h, which reads
// x and dy once; the functors here do the same in two passes, on the host and for rows too long for
// it.
#include "engine/layers/layer_norm/cuda_kernels.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/device/cuda/columns.h"
#include "engine/device/cuda/rows.h"
#if defined(__CUDACC__)
#include "engine/layers/layer_norm/cuda_native.h"
#endif

namespace thalweg::engine::cuda {
namespace {

using gpu::Pack;

/// Row `row` of `x` as packs.
template <int width, class T>
THALWEG_HOST_DEVICE Pack<T, width>* packs_of(T* x, std::int64_t row, std::int64_t packs) {
  return reinterpret_cast<Pack<T, width>*>(x) + row * packs;
}
template <int width, class T>
THALWEG_HOST_DEVICE const Pack<T, width>* packs_of(const T* x, std::int64_t row,
                                                   std::int64_t packs) {
  return reinterpret_cast<const Pack<T, width>*>(x) + row * packs;
}

template <int width, class T>
struct Normalise {
  const T* x;
  const float* weight;
  const float* bias;
  T* y;
  RowMoments* moments;
  std::int64_t packs;  ///< of a row
  float epsilon;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const auto* from = packs_of<width>(x, row, packs);
    const auto* weights = packs_of<width>(weight, 0, packs);
    const auto* biases = packs_of<width>(bias, 0, packs);
    auto* to = packs_of<width>(y, row, packs);
    const auto count = static_cast<float>(packs * width);
    float sum = 0, squares = 0;
    for (std::int64_t p = block.rank(); p < packs; p += block.size()) {
      const auto in = from[p];
      for (int k = 0; k < width; ++k)
        sum += gpu::load(in.at[k]);
    }
    const float mean = block.sum(sum) / count;
    for (std::int64_t p = block.rank(); p < packs; p += block.size()) {
      const auto in = from[p];
      for (int k = 0; k < width; ++k) {
        const float difference = gpu::load(in.at[k]) - mean;
        squares += difference * difference;
      }
    }
    const float inverse = 1 / sqrtf(block.sum(squares) / count + epsilon);
    for (std::int64_t p = block.rank(); p < packs; p += block.size()) {
      const auto in = from[p];
      const auto times = weights[p], plus = biases[p];
      Pack<T, width> out;
      for (int k = 0; k < width; ++k)
        out.at[k] =
            gpu::store<T>((gpu::load(in.at[k]) - mean) * inverse * times.at[k] + plus.at[k]);
      to[p] = out;
    }
    if (block.rank() == 0) moments[row] = {mean, inverse};
  }
};

/// dy becomes dx, plus what other layers have brought.
template <int width, class T>
struct InputGradients {
  const T* x;
  T* dy;
  const T* before;  ///< null: nothing
  const float* weight;
  const RowMoments* moments;
  std::int64_t packs;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const auto* from = packs_of<width>(x, row, packs);
    const auto* others = before == nullptr ? nullptr : packs_of<width>(before, row, packs);
    const auto* weights = packs_of<width>(weight, 0, packs);
    auto* to = packs_of<width>(dy, row, packs);
    const RowMoments m = moments[row];
    const auto count = static_cast<float>(packs * width);
    float mine = 0, mine_along = 0;
    for (std::int64_t p = block.rank(); p < packs; p += block.size()) {
      const auto in = from[p], gradient = to[p];
      const auto times = weights[p];
      for (int k = 0; k < width; ++k) {
        const float weighted = gpu::load(gradient.at[k]) * times.at[k];
        mine += weighted;
        mine_along += weighted * (gpu::load(in.at[k]) - m.mean) * m.inverse;
      }
    }
    const float gradients = block.sum(mine) / count, along = block.sum(mine_along) / count;
    for (std::int64_t p = block.rank(); p < packs; p += block.size()) {
      const auto in = from[p], gradient = to[p];
      const auto times = weights[p];
      Pack<T, width> other{};
      if (others != nullptr) other = others[p];
      Pack<T, width> out;
      for (int k = 0; k < width; ++k) {
        const float normal = (gpu::load(in.at[k]) - m.mean) * m.inverse;
        const float dx =
            m.inverse * (gpu::load(gradient.at[k]) * times.at[k] - gradients - normal * along);
        out.at[k] = gpu::store<T>(dx + gpu::load(other.at[k]));
      }
      to[p] = out;
    }
  }
};

/// Sums of dy times the normalised x, and of dy, over `slice` rows.
template <int width, class T>
struct WeightGradients {
  const T* x;
  const T* dy;
  const RowMoments* moments;
  std::int64_t rows, packs, slice;
  float* parts;  ///< (slices, 2, features)
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t pack = i % packs, first = i / packs * slice;
    const std::int64_t end = first + slice < rows ? first + slice : rows;
    Pack<float, width> weight{}, bias{};
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (std::int64_t row = first; row < end; ++row) {
      const auto gradient = packs_of<width>(dy, row, packs)[pack];
      const auto in = packs_of<width>(x, row, packs)[pack];
      const RowMoments m = moments[row];
      for (int k = 0; k < width; ++k) {
        const float here = gpu::load(gradient.at[k]);
        weight.at[k] += here * (gpu::load(in.at[k]) - m.mean) * m.inverse;
        bias.at[k] += here;
      }
    }
    auto* const to = reinterpret_cast<Pack<float, width>*>(parts) + i / packs * 2 * packs + pack;
    to[0] = weight;
    to[packs] = bias;
  }
};

/// Of the slices' sums: `features` weights, then as many biases.
struct PutLayerNormGradients {
  std::int64_t features;
  float *d_weight, *d_bias;
  THALWEG_HOST_DEVICE void operator()(std::int64_t, std::int64_t column, const float* sums) const {
    if (column < features)
      d_weight[column] = sums[0];
    else
      d_bias[column - features] = sums[0];
  }
};

/// How many slices of rows, or blocks, give a part of the parameters' gradients each: follows from
/// the sizes alone.
struct RowSlices {
  std::int64_t slice = 1, count = 1;
};
RowSlices row_slices_of(const RowShape& shape) {
  // As many slices as fill a GPU, of as many rows as are worth one.
  constexpr std::int64_t shortest = 16, most = 1024;
  const std::int64_t slice = std::max(shortest, (shape.rows + most - 1) / most);
  return {slice, (shape.rows + slice - 1) / slice};
}

/// By functors.
template <int width, class T>
void backward_in_passes(gpu::Stream& stream, const RowShape& shape, const RowGradients& tensors,
                        float* parts) {
  const RowSlices slices = row_slices_of(shape);
  const std::int64_t packs = shape.features / width;
  const auto* const x = static_cast<const T*>(tensors.x);
  auto* const dy = static_cast<T*>(tensors.dy);
  gpu::for_each(
      stream, slices.count * packs,
      WeightGradients<width, T>{x, dy, tensors.moments, shape.rows, packs, slices.slice, parts});
  if (tensors.input)
    gpu::for_each_row(stream, shape.rows, team_for(packs),
                      InputGradients<width, T>{x, dy, static_cast<const T*>(tensors.before),
                                               tensors.weight, tensors.moments, packs});
}

#if defined(__CUDACC__)
/// In one pass.
template <int width, int own, class T>
void backward_at_once(gpu::Stream& stream, const RowShape& shape, const RowGradients& tensors,
                      float* parts) {
  const std::int64_t packs = shape.features / width;
  const std::int64_t threads = ((packs + own - 1) / own + 31) / 32 * 32;
  const std::int64_t blocks = row_slices_of(shape).count;
  gpu::launch(stream, layer_norm_backward_rows<width, own, T>, dim3(static_cast<unsigned>(blocks)),
              dim3(static_cast<unsigned>(threads)),
              RowsBackward<T>{static_cast<const T*>(tensors.x), static_cast<T*>(tensors.dy),
                              static_cast<const T*>(tensors.before), tensors.weight,
                              tensors.moments, shape.rows, packs, tensors.input, parts});
}
#endif

template <int width, class T>
void backward(gpu::Stream& stream, const RowShape& shape, const RowGradients& tensors,
              float* parts) {
#if defined(__CUDACC__)
  if (!stream.emulated()) {
    const std::int64_t packs = shape.features / width;
    if (packs <= 512) return backward_at_once<width, 1, T>(stream, shape, tensors, parts);
    if (packs <= 1024) return backward_at_once<width, 2, T>(stream, shape, tensors, parts);
  }
#endif
  backward_in_passes<width, T>(stream, shape, tensors, parts);
}

}  // namespace

void layer_norm_forward(gpu::Stream& stream, gpu::Type type, const RowShape& shape, float epsilon,
                        const void* x, const float* weight, const float* bias, void* y,
                        RowMoments* moments) {
  gpu::with_packs(type, shape.features, [&](auto t, auto w) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    const std::int64_t packs = shape.features / width;
    gpu::for_each_row(stream, shape.rows, team_for(packs),
                      Normalise<width, T>{static_cast<const T*>(x), weight, bias,
                                          static_cast<T*>(y), moments, packs, epsilon});
  });
}

std::int64_t layer_norm_parts(const RowShape& shape) {
  const std::int64_t slices = row_slices_of(shape).count, columns = 2 * shape.features;
  // Those of the slices, then what adding them up needs.
  return slices * columns + column_parts({1, slices, columns}, 1);
}

void layer_norm_backward(gpu::Stream& stream, gpu::Type type, const RowShape& shape,
                         const RowGradients& tensors, float* parts, float* d_weight,
                         float* d_bias) {
  if (shape.rows <= 0) return;
  const std::int64_t columns = 2 * shape.features;
  const std::int64_t slices = row_slices_of(shape).count;
  gpu::with_packs(type, shape.features, [&](auto t, auto w) {
    backward<decltype(w)::value, decltype(t)>(stream, shape, tensors, parts);
  });
  reduce_columns(stream, Columns{1, slices, columns}, PlainSum(),
                 PutLayerNormGradients{shape.features, d_weight, d_bias}, parts + slices * columns,
                 static_cast<const float*>(parts));
}

}  // namespace thalweg::engine::cuda
