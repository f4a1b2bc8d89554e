// layer_norm in two passes over each position's features; backward reads mean and deviation that
// forward has left.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/lane_sum.h"
#include "engine/device/cpu/types.h"
#include "engine/layers/layer_norm/options.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

/// moments: mean and 1 / deviation of each row.
template <class T>
THALWEG_INLINE void normalise_rows(const T* __restrict x, const float* __restrict weight,
                                   const float* __restrict bias, std::int64_t rows,
                                   std::int64_t features, float epsilon, float* __restrict moments,
                                   T* __restrict y) {
  const auto count = static_cast<float>(features);
  for (std::int64_t r = 0; r < rows; ++r, x += features, y += features) {
    const float mean = lane_sum(features, [&](std::int64_t i) { return load(x[i]); }) / count;
    const float squares = lane_sum(
        features, [&](std::int64_t i) { return (load(x[i]) - mean) * (load(x[i]) - mean); });
    const float inverse = 1 / std::sqrt(squares / count + epsilon);
    moments[2 * r] = mean;
    moments[2 * r + 1] = inverse;
    for (std::int64_t i = 0; i < features; ++i)
      y[i] = store<T>((load(x[i]) - mean) * inverse * weight[i] + bias[i]);
  }
}

THALWEG_SIMD void normalise(const float* x, const float* weight, const float* bias,
                            std::int64_t rows, std::int64_t features, float epsilon, float* moments,
                            float* y) {
  normalise_rows(x, weight, bias, rows, features, epsilon, moments, y);
}
THALWEG_SIMD void normalise(const Bf16* x, const float* weight, const float* bias,
                            std::int64_t rows, std::int64_t features, float epsilon, float* moments,
                            Bf16* y) {
  normalise_rows(x, weight, bias, rows, features, epsilon, moments, y);
}

template <class T>
THALWEG_INLINE void gradients_of_rows(const T* __restrict x, const T* __restrict dy,
                                      const float* __restrict weight,
                                      const float* __restrict moments, std::int64_t rows,
                                      std::int64_t features, float* __restrict d_weight,
                                      float* __restrict d_bias, T* __restrict dx) {
  const auto count = static_cast<float>(features);
  std::fill_n(d_weight, features, 0.0f);
  std::fill_n(d_bias, features, 0.0f);
  for (std::int64_t r = 0; r < rows; ++r, x += features, dy += features, dx += features) {
    const float mean = moments[2 * r], inverse = moments[2 * r + 1];
    const auto level = [&](std::int64_t i) { return (load(x[i]) - mean) * inverse; };
    for (std::int64_t i = 0; i < features; ++i) {
      d_weight[i] += load(dy[i]) * level(i);
      d_bias[i] += load(dy[i]);
    }
    const float gradients =
        lane_sum(features, [&](std::int64_t i) { return load(dy[i]) * weight[i]; }) / count;
    const float along =
        lane_sum(features, [&](std::int64_t i) { return load(dy[i]) * weight[i] * level(i); }) /
        count;
    for (std::int64_t i = 0; i < features; ++i)
      dx[i] = store<T>(inverse * (load(dy[i]) * weight[i] - gradients - level(i) * along));
  }
}

THALWEG_SIMD void normalise_backward(const float* x, const float* dy, const float* weight,
                                     const float* moments, std::int64_t rows, std::int64_t features,
                                     float* d_weight, float* d_bias, float* dx) {
  gradients_of_rows(x, dy, weight, moments, rows, features, d_weight, d_bias, dx);
}
THALWEG_SIMD void normalise_backward(const Bf16* x, const Bf16* dy, const float* weight,
                                     const float* moments, std::int64_t rows, std::int64_t features,
                                     float* d_weight, float* d_bias, Bf16* dx) {
  gradients_of_rows(x, dy, weight, moments, rows, features, d_weight, d_bias, dx);
}

}  // namespace

TensorId layer_norm(Builder& b, const Node& node, TensorId given) {
  const std::int64_t features = node.layer->in.back();
  const std::int64_t rows = b.samples() * elements(node.layer->in) / features;
  const auto epsilon = static_cast<float>(node.layer->options_as<LayerNormOptions>().epsilon);
  const TensorId plain = b.in_plain_order(Builder::Pass::both, given);
  const Type type = type_of(b.desc(plain));
  const Desc layout = plain_desc(dims_of(b.desc(plain)), type);
  const TensorId x = b.in_layout(Builder::Pass::both, plain, layout);
  const Desc row({features}, f32, Tag::a);
  const TensorId weight = b.parameter(node.first_parameter, row, row);
  const TensorId bias = b.parameter(node.first_parameter + 1, row, row);
  const TensorId moments = b.activation(Desc({2 * rows}, f32, Tag::a));
  const TensorId y = b.activation(layout);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    b.kernel(Builder::Pass::both, {x, weight, bias, moments, y}, [=](const Frame& frame) {
      normalise(frame.as<T>(x), frame.floats(weight), frame.floats(bias), rows, features, epsilon,
                frame.floats(moments), frame.as<T>(y));
    });
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, layout);
    const TensorId dx = b.activation(layout);
    const TensorId d_weight = b.gradient(node.first_parameter);
    const TensorId d_bias = b.gradient(node.first_parameter + 1);
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      b.kernel(Builder::Pass::backward, {x, dy, weight, moments, d_weight, d_bias, dx},
               [=](const Frame& frame) {
                 normalise_backward(frame.as<T>(x), frame.as<T>(dy), frame.floats(weight),
                                    frame.floats(moments), rows, features, frame.floats(d_weight),
                                    frame.floats(d_bias), frame.as<T>(dx));
               });
    });
    b.ready(node.first_parameter);
    b.ready(node.first_parameter + 1);
    return b.out_of_plain_order(dx, given);
  });
  return y;
}

}  // namespace thalweg::engine::cpu
