// layer_norm: a team for each position, mean and deviation kept for backward. The slopes of weight
// and bias are sums over slices of rows, then over slices.
#include <algorithm>
#include <cmath>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/cuda/reductions.h"
#include "engine/device/cuda/rows.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct Moments {
  float mean, inverse;  ///< 1 / sqrt(variance + epsilon)
};

template <class T>
struct Normalise {
  const T* x;
  const float* weight;
  const float* bias;
  T* y;
  Moments* moments;
  std::int64_t features;
  float epsilon;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t row) const {
    const T* from = x + row * features;
    const auto count = static_cast<float>(features);
    float sum = 0, squares = 0;
    for (std::int64_t i = team.rank(); i < features; i += team.size())
      sum += gpu::load(from[i]);
    const float mean = team.sum(sum) / count;
    for (std::int64_t i = team.rank(); i < features; i += team.size()) {
      const float difference = gpu::load(from[i]) - mean;
      squares += difference * difference;
    }
    const float inverse = 1 / sqrtf(team.sum(squares) / count + epsilon);
    for (std::int64_t i = team.rank(); i < features; i += team.size())
      y[row * features + i] =
          gpu::store<T>((gpu::load(from[i]) - mean) * inverse * weight[i] + bias[i]);
    if (team.rank() == 0) moments[row] = {mean, inverse};
  }
};

/// dy becomes dx.
template <class T>
struct InputSlopes {
  const T* x;
  T* dy;
  const float* weight;
  const Moments* moments;
  std::int64_t features;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t row) const {
    const T* from = x + row * features;
    T* slope = dy + row * features;
    const Moments m = moments[row];
    const auto count = static_cast<float>(features);
    float mine = 0, mine_along = 0;
    for (std::int64_t i = team.rank(); i < features; i += team.size()) {
      const float weighted = gpu::load(slope[i]) * weight[i];
      mine += weighted;
      mine_along += weighted * (gpu::load(from[i]) - m.mean) * m.inverse;
    }
    const float slopes = team.sum(mine) / count, along = team.sum(mine_along) / count;
    for (std::int64_t i = team.rank(); i < features; i += team.size()) {
      const float normal = (gpu::load(from[i]) - m.mean) * m.inverse;
      slope[i] =
          gpu::store<T>(m.inverse * (gpu::load(slope[i]) * weight[i] - slopes - normal * along));
    }
  }
};

/// Of `slice` rows; neighbouring threads take neighbouring features.
template <class T>
struct WeightSlopes {
  const T* x;
  const T* dy;
  const Moments* moments;
  std::int64_t rows, features, slice;
  float* weights;  ///< (slices, features)
  float* biases;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t feature = i % features, first = i / features * slice;
    const std::int64_t end = first + slice < rows ? first + slice : rows;
    float weight = 0, bias = 0;
    for (std::int64_t row = first; row < end; ++row) {
      const std::int64_t at = row * features + feature;
      const float slope = gpu::load(dy[at]);
      weight += slope * (gpu::load(x[at]) - moments[row].mean) * moments[row].inverse;
      bias += slope;
    }
    weights[i] = weight;
    biases[i] = bias;
  }
};

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
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each(
          frame.queue, slices * features,
          WeightSlopes<T>{frame.as<T>(x), frame.as<T>(dy), frame.as<Moments>(moments), rows,
                          features, slice, frame.floats(weights), frame.floats(biases)});
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
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(
          frame.queue, rows, team_for(features),
          Normalise<T>{frame.as<T>(x), frame.floats(weight), frame.floats(bias), frame.as<T>(y),
                       frame.as<Moments>(moments), features, epsilon});
    });
  });

  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_plain_order(Builder::Pass::backward, dy);
    add_weight_slopes(b, first, x, dy, moments, rows, features);
    if (!b.wants_input_gradient()) return dy;
    const TensorId dx = b.writable(dy);
    b.kernel(Builder::Pass::backward, {x, dx, weight, moments}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto t) {
        using T = decltype(t);
        gpu::for_each_row(frame.queue, rows, team_for(features),
                          InputSlopes<T>{frame.as<T>(x), frame.as<T>(dx), frame.floats(weight),
                                         frame.as<Moments>(moments), features});
      });
    });
    return desc.images() ? b.in_channels_last(Builder::Pass::backward, dx, desc.dims) : dx;
  });
  return desc.images() ? b.in_channels_last(Builder::Pass::both, y, desc.dims) : y;
}

}  // namespace thalweg::engine::cuda
