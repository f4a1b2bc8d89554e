// rms_norm: a block for each row, whose inverse root mean square is kept for backward. The gradient
// of the weight is summed over slices of rows, a thread a feature, then over the slices.
#include <algorithm>
#include <cmath>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/reductions.h"
#include "engine/device/cuda/rows.h"
#include "engine/gpu/loops.h"
#include "engine/layers/rms_norm/options.h"

namespace thalweg::engine::cuda {
namespace {

template <class T>
struct NormaliseByRms {
  const T* x;
  const float* weight;
  T* y;
  float* inverses;
  std::int64_t features;
  float epsilon;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const T* from = x + row * features;
    T* to = y + row * features;
    float squares = 0;
    for (std::int64_t i = block.rank(); i < features; i += block.size())
      squares += gpu::load(from[i]) * gpu::load(from[i]);
    const float inverse = 1 / sqrtf(block.sum(squares) / static_cast<float>(features) + epsilon);
    for (std::int64_t i = block.rank(); i < features; i += block.size())
      to[i] = gpu::store<T>(gpu::load(from[i]) * inverse * weight[i]);
    if (block.rank() == 0) inverses[row] = inverse;
  }
};

/// dy becomes dx.
template <class T>
struct RmsInputGradients {
  const T* x;
  T* dy;
  const float* weight;
  const float* inverses;
  std::int64_t features;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const T* from = x + row * features;
    T* to = dy + row * features;
    const float inverse = inverses[row];
    float mine = 0;
    for (std::int64_t i = block.rank(); i < features; i += block.size())
      mine += gpu::load(to[i]) * weight[i] * gpu::load(from[i]) * inverse;
    const float along = block.sum(mine) / static_cast<float>(features);
    for (std::int64_t i = block.rank(); i < features; i += block.size())
      to[i] = gpu::store<T>(inverse *
                            (gpu::load(to[i]) * weight[i] - gpu::load(from[i]) * inverse * along));
  }
};

/// Sums of dy times the normalised x over `slice` rows.
template <class T>
struct RmsWeightGradients {
  const T* x;
  const T* dy;
  const float* inverses;
  float* parts;  ///< (slices, features)
  std::int64_t rows, features, slice;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t feature = i % features, first = i / features * slice;
    const std::int64_t end = first + slice < rows ? first + slice : rows;
    float sum = 0;
    for (std::int64_t row = first; row < end; ++row) {
      const std::int64_t at = row * features + feature;
      sum += gpu::load(dy[at]) * gpu::load(x[at]) * inverses[row];
    }
    parts[i] = sum;
  }
};

/// Rows of a slice: enough slices to fill a GPU, each of as many rows as are worth one.
std::int64_t slice_of(std::int64_t rows) {
  constexpr std::int64_t shortest = 16, most = 1024;
  return std::max(shortest, (rows + most - 1) / most);
}

}  // namespace

TensorId rms_norm(Builder& b, const Node& node, TensorId given) {
  const Desc desc = b.desc(given);
  const std::int64_t features = node.layer->in.back(), rows = desc.count() / features;
  const auto epsilon = static_cast<float>(node.layer->options_as<RmsNormOptions>().epsilon);
  const Type type = desc.type;
  const int parameter = node.first_parameter;
  const TensorId weight = b.parameter(parameter);
  const TensorId x = b.in_plain_order(Builder::Pass::both, given);
  const TensorId y = b.activation(desc.images() ? b.desc(x).dims : desc.dims, type);
  const TensorId inverses = b.scratch(rows, sizeof(float));
  b.kernel(Builder::Pass::both, {x, weight, y, inverses}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(frame.stream, rows, team_for(features),
                        NormaliseByRms<T>{frame.as<T>(x), frame.floats(weight), frame.as<T>(y),
                                          frame.floats(inverses), features, epsilon});
    });
  });

  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_plain_order(Builder::Pass::backward, dy);
    const std::int64_t slice = slice_of(rows), slices = (rows + slice - 1) / slice;
    const TensorId parts = b.activation({slices, features}, Type::f32);
    b.kernel(Builder::Pass::backward, {x, dy, inverses, parts}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto t) {
        using T = decltype(t);
        gpu::for_each(frame.stream, slices * features,
                      RmsWeightGradients<T>{frame.as<T>(x), frame.as<T>(dy), frame.floats(inverses),
                                            frame.floats(parts), rows, features, slice});
      });
    });
    sum_rows(b, parts, slices, features, b.gradient(parameter));
    b.ready(parameter);
    if (!b.wants_input_gradient()) return dy;
    const TensorId dx = b.writable(dy);
    b.kernel(Builder::Pass::backward, {x, dx, weight, inverses}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto t) {
        using T = decltype(t);
        gpu::for_each_row(
            frame.stream, rows, team_for(features),
            RmsInputGradients<T>{frame.as<T>(x), frame.as<T>(dx), frame.floats(weight),
                                 frame.floats(inverses), features});
      });
    });
    return desc.images() ? b.in_channels_last(Builder::Pass::backward, dx, desc.dims) : dx;
  });
  return desc.images() ? b.in_channels_last(Builder::Pass::both, y, desc.dims) : y;
}

}  // namespace thalweg::engine::cuda
