// embedding and positions: rows copied and added by loops of our own.
#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/types.h"
#include "engine/device/cpu/window_dims.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

template <class T>
THALWEG_INLINE void add_to(const T* __restrict from, std::int64_t count, float* __restrict into) {
  for (std::int64_t i = 0; i < count; ++i)
    into[i] += load(from[i]);
}

THALWEG_SIMD void add_row(const float* from, std::int64_t count, float* into) {
  add_to(from, count, into);
}
THALWEG_SIMD void add_row(const Bf16* from, std::int64_t count, float* into) {
  add_to(from, count, into);
}

THALWEG_SIMD void copy_row(const float* __restrict from, std::int64_t count, float* __restrict y) {
  std::copy_n(from, count, y);
}
THALWEG_SIMD void copy_row(const float* __restrict from, std::int64_t count, Bf16* __restrict y) {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = to_bf16(from[i]);
}

template <class T>
THALWEG_INLINE void sum_of(const T* __restrict a, const float* __restrict b, std::int64_t count,
                           T* __restrict y) {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = store<T>(load(a[i]) + b[i]);
}

THALWEG_SIMD void sum_rows(const float* a, const float* b, std::int64_t count, float* y) {
  sum_of(a, b, count, y);
}
THALWEG_SIMD void sum_rows(const Bf16* a, const float* b, std::int64_t count, Bf16* y) {
  sum_of(a, b, count, y);
}

}  // namespace

TensorId embedding(Builder& b, const Node& node, TensorId x) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t width = layer.out[1], tokens = layer.parameters[0].shape[0];
  const std::int64_t places = b.samples() * layer.in[0];
  const Desc table({tokens, width}, f32, Tag::ab);
  const TensorId weight = b.parameter(node.first_parameter, table, table);
  const TensorId y = b.activation(plain_desc(batch_of(layer.out, b.samples()), b.type()));
  with_type(b.type(), [&](auto zero) {
    using T = decltype(zero);
    b.kernel(Builder::Pass::both, {x, weight, y}, [=](const Frame& frame) {
      const float* rows = frame.floats(weight);
      for (std::int64_t i = 0; i < places; ++i)
        copy_row(rows + token_at(frame.floats(x), i, tokens) * width, width,
                 frame.as<T>(y) + i * width);
    });
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, b.desc(y));
    const TensorId gradient = b.gradient(node.first_parameter);
    with_type(b.type(), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(Builder::Pass::backward, {x, dy, gradient}, [=](const Frame& frame) {
        float* rows = frame.floats(gradient);
        std::fill_n(rows, tokens * width, 0.0f);
        for (std::int64_t i = 0; i < places; ++i)
          add_row(frame.as<T>(dy) + i * width, width,
                  rows + token_at(frame.floats(x), i, tokens) * width);
      });
    });
    b.ready(node.first_parameter);
    return dy;
  });
  return y;
}

TensorId positions(Builder& b, const Node& node, TensorId x) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t count = elements(layer.in), samples = b.samples();
  const Desc table({layer.in[0], layer.in[1]}, f32, Tag::ab);
  const TensorId weight = b.parameter(node.first_parameter, table, table);
  const Desc plain = plain_desc(batch_of(layer.in, samples), b.type());
  const TensorId from = b.in_layout(Builder::Pass::both, x, plain);
  const TensorId y = b.activation(plain);
  with_type(b.type(), [&](auto zero) {
    using T = decltype(zero);
    b.kernel(Builder::Pass::both, {from, weight, y}, [=](const Frame& frame) {
      for (std::int64_t n = 0; n < samples; ++n)
        sum_rows(frame.as<T>(from) + n * count, frame.floats(weight), count,
                 frame.as<T>(y) + n * count);
    });
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, plain);
    const TensorId gradient = b.gradient(node.first_parameter);
    with_type(b.type(), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(Builder::Pass::backward, {dy, gradient}, [=](const Frame& frame) {
        std::fill_n(frame.floats(gradient), count, 0.0f);
        for (std::int64_t n = 0; n < samples; ++n)
          add_row(frame.as<T>(dy) + n * count, count, frame.floats(gradient));
      });
    });
    b.ready(node.first_parameter);
    return dy;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
