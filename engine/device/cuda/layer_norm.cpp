// layer_norm: a team for each position, mean and deviation kept for backward. The slopes of weight
// and bias are sums over slices of rows, then over slices. A thread takes 16 bytes of neighbouring
// features where rows divide so.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/cuda/reductions.h"
#include "engine/device/cuda/rows.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

using gpu::Pack;

struct Moments {
  float mean, inverse;  ///< 1 / sqrt(variance + epsilon)
};

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
  Moments* moments;
  std::int64_t packs;  ///< of a row
  float epsilon;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t row) const {
    const auto* from = packs_of<width>(x, row, packs);
    const auto* weights = packs_of<width>(weight, 0, packs);
    const auto* biases = packs_of<width>(bias, 0, packs);
    auto* to = packs_of<width>(y, row, packs);
    const auto count = static_cast<float>(packs * width);
    float sum = 0, squares = 0;
    for (std::int64_t p = team.rank(); p < packs; p += team.size()) {
      const auto in = from[p];
      for (int k = 0; k < width; ++k)
        sum += gpu::load(in.at[k]);
    }
    const float mean = team.sum(sum) / count;
    for (std::int64_t p = team.rank(); p < packs; p += team.size()) {
      const auto in = from[p];
      for (int k = 0; k < width; ++k) {
        const float difference = gpu::load(in.at[k]) - mean;
        squares += difference * difference;
      }
    }
    const float inverse = 1 / sqrtf(team.sum(squares) / count + epsilon);
    for (std::int64_t p = team.rank(); p < packs; p += team.size()) {
      const auto in = from[p];
      const auto times = weights[p], plus = biases[p];
      Pack<T, width> out;
      for (int k = 0; k < width; ++k)
        out.at[k] =
            gpu::store<T>((gpu::load(in.at[k]) - mean) * inverse * times.at[k] + plus.at[k]);
      to[p] = out;
    }
    if (team.rank() == 0) moments[row] = {mean, inverse};
  }
};

/// dy becomes dx, plus what other layers have brought.
template <int width, class T>
struct InputSlopes {
  const T* x;
  T* dy;
  const T* before;  ///< null: nothing
  const float* weight;
  const Moments* moments;
  std::int64_t packs;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t row) const {
    const auto* from = packs_of<width>(x, row, packs);
    const auto* others = before == nullptr ? nullptr : packs_of<width>(before, row, packs);
    const auto* weights = packs_of<width>(weight, 0, packs);
    auto* to = packs_of<width>(dy, row, packs);
    const Moments m = moments[row];
    const auto count = static_cast<float>(packs * width);
    float mine = 0, mine_along = 0;
    for (std::int64_t p = team.rank(); p < packs; p += team.size()) {
      const auto in = from[p], slope = to[p];
      const auto times = weights[p];
      for (int k = 0; k < width; ++k) {
        const float weighted = gpu::load(slope.at[k]) * times.at[k];
        mine += weighted;
        mine_along += weighted * (gpu::load(in.at[k]) - m.mean) * m.inverse;
      }
    }
    const float slopes = team.sum(mine) / count, along = team.sum(mine_along) / count;
    for (std::int64_t p = team.rank(); p < packs; p += team.size()) {
      const auto in = from[p], slope = to[p];
      const auto times = weights[p];
      Pack<T, width> other{};
      if (others != nullptr) other = others[p];
      Pack<T, width> out;
      for (int k = 0; k < width; ++k) {
        const float normal = (gpu::load(in.at[k]) - m.mean) * m.inverse;
        const float dx =
            m.inverse * (gpu::load(slope.at[k]) * times.at[k] - slopes - normal * along);
        out.at[k] = gpu::store<T>(dx + gpu::load(other.at[k]));
      }
      to[p] = out;
    }
  }
};

/// Sums of dy times the normalised x, and of dy, over `slice` rows.
template <int width, class T>
struct WeightSlopes {
  const T* x;
  const T* dy;
  const Moments* moments;
  std::int64_t rows, packs, slice;
  float* weights;  ///< (slices, features)
  float* biases;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t pack = i % packs, first = i / packs * slice;
    const std::int64_t end = first + slice < rows ? first + slice : rows;
    Pack<float, width> weight{}, bias{};
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (std::int64_t row = first; row < end; ++row) {
      const auto slope = packs_of<width>(dy, row, packs)[pack];
      const auto in = packs_of<width>(x, row, packs)[pack];
      const Moments m = moments[row];
      for (int k = 0; k < width; ++k) {
        const float here = gpu::load(slope.at[k]);
        weight.at[k] += here * (gpu::load(in.at[k]) - m.mean) * m.inverse;
        bias.at[k] += here;
      }
    }
    reinterpret_cast<Pack<float, width>*>(weights)[i] = weight;
    reinterpret_cast<Pack<float, width>*>(biases)[i] = bias;
  }
};

/// work(T{}, std::integral_constant<int, width>()): how many features a thread takes at once.
template <class Work>
void with_packs(Type type, std::int64_t features, const Work& work) {
  gpu::with_type(type, [&](auto t) {
    constexpr int width = 16 / static_cast<int>(sizeof t);
    if (features % width == 0) return work(t, std::integral_constant<int, width>());
    work(t, std::integral_constant<int, 1>());
  });
}

void add_weight_slopes(Builder& b, int weight, TensorId x, TensorId dy, TensorId moments,
                       std::int64_t rows, std::int64_t features) {
  // As many slices as fill a GPU, of as many rows as are worth one.
  constexpr std::int64_t shortest = 16, most = 1024;
  const std::int64_t slice = std::max(shortest, (rows + most - 1) / most);
  const std::int64_t slices = (rows + slice - 1) / slice;
  const TensorId weights = b.scratch(slices * features, sizeof(float)),
                 biases = b.scratch(slices * features, sizeof(float));
  const Type type = b.desc(x).type;
  b.kernel(Builder::Pass::backward, {x, dy, moments, weights, biases}, [=](const Frame& frame) {
    with_packs(type, features, [&](auto t, auto w) {
      using T = decltype(t);
      constexpr int width = decltype(w)::value;
      const std::int64_t packs = features / width;
      gpu::for_each(
          frame.queue, slices * packs,
          WeightSlopes<width, T>{frame.as<T>(x), frame.as<T>(dy), frame.as<Moments>(moments), rows,
                                 packs, slice, frame.floats(weights), frame.floats(biases)});
    });
  });
  sum_rows(b, weights, slices, features, b.gradient(weight));
  b.ready(weight);
  sum_rows(b, biases, slices, features, b.gradient(weight + 1));
  b.ready(weight + 1);
}

}  // namespace

TensorId layer_norm(Builder& b, const Node& node, TensorId given) {
  const Desc desc = b.desc(given);
  const std::int64_t features = node.layer->in.back(), rows = desc.count() / features;
  const auto epsilon = static_cast<float>(node.layer->real("epsilon"));
  const Type type = desc.type;
  const int first = node.first_parameter;
  const TensorId weight = b.parameter(first), bias = b.parameter(first + 1);
  const TensorId x = b.in_plain_order(Builder::Pass::both, given);
  const TensorId y = b.activation(desc.images() ? b.desc(x).dims : desc.dims, type);
  const TensorId moments = b.scratch(rows, sizeof(Moments));
  b.kernel(Builder::Pass::both, {x, weight, bias, y, moments}, [=](const Frame& frame) {
    with_packs(type, features, [&](auto t, auto w) {
      using T = decltype(t);
      constexpr int width = decltype(w)::value;
      const std::int64_t packs = features / width;
      gpu::for_each_row(
          frame.queue, rows, team_for(packs),
          Normalise<width, T>{frame.as<T>(x), frame.floats(weight), frame.floats(bias),
                              frame.as<T>(y), frame.as<Moments>(moments), packs, epsilon});
    });
  });

  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_plain_order(Builder::Pass::backward, dy);
    add_weight_slopes(b, first, x, dy, moments, rows, features);
    if (!b.wants_input_gradient()) return dy;
    const TensorId dx = b.writable(dy);
    const TensorId before = desc.images() ? -1 : b.take_slope(b.desc(dx));
    b.kernel(Builder::Pass::backward, {x, dx, before, weight, moments}, [=](const Frame& frame) {
      with_packs(type, features, [&](auto t, auto w) {
        using T = decltype(t);
        constexpr int width = decltype(w)::value;
        const std::int64_t packs = features / width;
        gpu::for_each_row(
            frame.queue, rows, team_for(packs),
            InputSlopes<width, T>{frame.as<T>(x), frame.as<T>(dx), frame.as<T>(before),
                                  frame.floats(weight), frame.as<Moments>(moments), packs});
      });
    });
    return desc.images() ? b.in_channels_last(Builder::Pass::backward, dx, desc.dims) : dx;
  });
  return desc.images() ? b.in_channels_last(Builder::Pass::both, y, desc.dims) : y;
}

}  // namespace thalweg::engine::cuda
