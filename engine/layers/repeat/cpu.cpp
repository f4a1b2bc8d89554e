// repeat: rows copied and summed by loops of our own.
#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

THALWEG_SIMD void sum_positions(const float* __restrict dy, std::int64_t samples,
                                std::int64_t positions, std::int64_t features,
                                float* __restrict dx) {
  for (std::int64_t n = 0; n < samples; ++n, dx += features) {
    std::fill_n(dx, features, 0.0f);
    for (std::int64_t p = 0; p < positions; ++p, dy += features)
      for (std::int64_t i = 0; i < features; ++i)
        dx[i] += dy[i];
  }
}

}  // namespace

TensorId repeat(Builder& b, const Node& node, TensorId given) {
  const std::int64_t samples = b.samples(), positions = node.layer->out[0],
                     features = node.layer->out[1];
  const TensorId x = b.in_layout(Builder::Pass::both, b.in_plain_order(Builder::Pass::both, given),
                                 plain_desc({samples, features}));
  const TensorId y = b.activation(plain_desc({samples, positions, features}));
  b.kernel(Builder::Pass::both, {x, y}, [=](const Frame& frame) {
    for (std::int64_t row = 0; row < samples * positions; ++row)
      std::copy_n(frame.floats(x) + row / positions * features, features,
                  frame.floats(y) + row * features);
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, b.desc(y));
    const TensorId dx = b.activation(plain_desc({samples, features}));
    b.kernel(Builder::Pass::backward, {dy, dx}, [=](const Frame& frame) {
      sum_positions(frame.floats(dy), samples, positions, features, frame.floats(dx));
    });
    return b.out_of_plain_order(dx, given);
  });
  return y;
}

}  // namespace thalweg::engine::cpu
