// rms_norm in two passes over each position's features; backward reads the inverse root mean square
// that forward has left.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/lane_sum.h"
#include "engine/device/cpu/types.h"
#include "engine/layers/rms_norm/options.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

template <class T>
THALWEG_INLINE void normalise_rows(const T* __restrict x, const float* __restrict weight,
                                   std::int64_t rows, std::int64_t features, float epsilon,
                                   float* __restrict inverses, T* __restrict y) {
  for (std::int64_t r = 0; r < rows; ++r, x += features, y += features) {
    const float squares =
        lane_sum(features, [&](std::int64_t i) { return load(x[i]) * load(x[i]); });
    const float inverse = 1 / std::sqrt(squares / static_cast<float>(features) + epsilon);
    inverses[r] = inverse;
    for (std::int64_t i = 0; i < features; ++i)
      y[i] = store<T>(load(x[i]) * inverse * weight[i]);
  }
}

THALWEG_SIMD void normalise(const float* x, const float* weight, std::int64_t rows,
                            std::int64_t features, float epsilon, float* inverses, float* y) {
  normalise_rows(x, weight, rows, features, epsilon, inverses, y);
}
THALWEG_SIMD void normalise(const Bf16* x, const float* weight, std::int64_t rows,
                            std::int64_t features, float epsilon, float* inverses, Bf16* y) {
  normalise_rows(x, weight, rows, features, epsilon, inverses, y);
}

template <class T>
THALWEG_INLINE void gradients_of_rows(const T* __restrict x, const T* __restrict dy,
                                      const float* __restrict weight,
                                      const float* __restrict inverses, std::int64_t rows,
                                      std::int64_t features, float* __restrict d_weight,
                                      T* __restrict dx) {
  std::fill_n(d_weight, features, 0.0f);
  for (std::int64_t r = 0; r < rows; ++r, x += features, dy += features, dx += features) {
    const float inverse = inverses[r];
    for (std::int64_t i = 0; i < features; ++i)
      d_weight[i] += load(dy[i]) * load(x[i]) * inverse;
    const float along =
        lane_sum(features,
                 [&](std::int64_t i) { return load(dy[i]) * weight[i] * load(x[i]) * inverse; }) /
        static_cast<float>(features);
    for (std::int64_t i = 0; i < features; ++i)
      dx[i] = store<T>(inverse * (load(dy[i]) * weight[i] - load(x[i]) * inverse * along));
  }
}

THALWEG_SIMD void normalise_backward(const float* x, const float* dy, const float* weight,
                                     const float* inverses, std::int64_t rows,
                                     std::int64_t features, float* d_weight, float* dx) {
  gradients_of_rows(x, dy, weight, inverses, rows, features, d_weight, dx);
}
THALWEG_SIMD void normalise_backward(const Bf16* x, const Bf16* dy, const float* weight,
                                     const float* inverses, std::int64_t rows,
                                     std::int64_t features, float* d_weight, Bf16* dx) {
  gradients_of_rows(x, dy, weight, inverses, rows, features, d_weight, dx);
}

}  // namespace

TensorId rms_norm(Builder& b, const Node& node, TensorId given) {
  const std::int64_t features = node.layer->in.back();
  const std::int64_t rows = b.samples() * elements(node.layer->in) / features;
  const auto epsilon = static_cast<float>(node.layer->options_as<RmsNormOptions>().epsilon);
  const TensorId plain = b.in_plain_order(Builder::Pass::both, given);
  const Type type = type_of(b.desc(plain));
  const Desc layout = plain_desc(dims_of(b.desc(plain)), type), row({features}, f32, Tag::a);
  const TensorId x = b.in_layout(Builder::Pass::both, plain, layout);
  const TensorId weight = b.parameter(node.first_parameter, row, row);
  const TensorId inverses = b.activation(Desc({rows}, f32, Tag::a));
  const TensorId y = b.activation(layout);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    b.kernel(Builder::Pass::both, {x, weight, inverses, y}, [=](const Frame& frame) {
      normalise(frame.as<T>(x), frame.floats(weight), rows, features, epsilon,
                frame.floats(inverses), frame.as<T>(y));
    });
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, layout);
    const TensorId dx = b.activation(layout), d_weight = b.gradient(node.first_parameter);
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      b.kernel(Builder::Pass::backward, {x, dy, weight, inverses, d_weight, dx},
               [=](const Frame& frame) {
                 normalise_backward(frame.as<T>(x), frame.as<T>(dy), frame.floats(weight),
                                    frame.floats(inverses), rows, features, frame.floats(d_weight),
                                    frame.as<T>(dx));
               });
    });
    b.ready(node.first_parameter);
    return b.out_of_plain_order(dx, given);
  });
  return y;
}

}  // namespace thalweg::engine::cpu
