// embedding and positions: rows copied and added by loops of our own.
#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/layer.h"
#include "engine/device/cpu/window_dims.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

THALWEG_SIMD void add_row(const float* __restrict from, std::int64_t count,
                          float* __restrict into) {
  for (std::int64_t i = 0; i < count; ++i)
    into[i] += from[i];
}

THALWEG_SIMD void sum_rows(const float* __restrict a, const float* __restrict b, std::int64_t count,
                           float* __restrict y) {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = a[i] + b[i];
}

}  // namespace

TensorId embedding(Builder& b, const Node& node, TensorId x) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t width = layer.out[1], tokens = layer.parameters[0].shape[0];
  const std::int64_t places = b.samples() * layer.in[0];
  const Desc table({tokens, width}, f32, Tag::ab);
  const TensorId weight = b.parameter(node.first_parameter, table, table);
  const TensorId y = b.activation(plain_desc(batch_of(layer.out, b.samples())));
  b.kernel(Builder::Pass::both, {x, weight, y}, [=](const Frame& frame) {
    const float* rows = frame.floats(weight);
    for (std::int64_t i = 0; i < places; ++i)
      std::copy_n(rows + token_at(frame.floats(x), i, tokens) * width, width,
                  frame.floats(y) + i * width);
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, b.desc(y));
    const TensorId gradient = b.gradient(node.first_parameter);
    b.kernel(Builder::Pass::backward, {x, dy, gradient}, [=](const Frame& frame) {
      float* rows = frame.floats(gradient);
      std::fill_n(rows, tokens * width, 0.0f);
      for (std::int64_t i = 0; i < places; ++i)
        add_row(frame.floats(dy) + i * width, width,
                rows + token_at(frame.floats(x), i, tokens) * width);
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
  const Desc plain = plain_desc(batch_of(layer.in, samples));
  const TensorId from = b.in_layout(Builder::Pass::both, x, plain);
  const TensorId y = b.activation(plain);
  b.kernel(Builder::Pass::both, {from, weight, y}, [=](const Frame& frame) {
    for (std::int64_t n = 0; n < samples; ++n)
      sum_rows(frame.floats(from) + n * count, frame.floats(weight), count,
               frame.floats(y) + n * count);
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, plain);
    const TensorId gradient = b.gradient(node.first_parameter);
    b.kernel(Builder::Pass::backward, {dy, gradient}, [=](const Frame& frame) {
      std::copy_n(frame.floats(dy), count, frame.floats(gradient));
      for (std::int64_t n = 1; n < samples; ++n)
        add_row(frame.floats(dy) + n * count, count, frame.floats(gradient));
    });
    b.ready(node.first_parameter);
    return dy;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
