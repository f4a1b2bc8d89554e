// group_norm over the plain layout, where a group is contiguous; backward reads mean and
// deviation that forward has left.
#include <algorithm>
#include <cmath>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/lane_sum.h"
#include "engine/layers/group_norm/options.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

struct GroupNormSizes {
  std::int64_t samples, groups, channels, pixels;  ///< channels of a group

  std::int64_t count() const { return channels * pixels; }
};

/// moments: mean and 1 / deviation of each group.
THALWEG_SIMD void normalise(const GroupNormSizes& s, float epsilon, const float* __restrict x,
                            const float* __restrict weight, const float* __restrict bias,
                            float* __restrict moments, float* __restrict y) {
  const std::int64_t count = s.count();
  for (std::int64_t g = 0; g < s.samples * s.groups; ++g) {
    const float mean =
        lane_sum(count, [&](std::int64_t i) { return x[i]; }) / static_cast<float>(count);
    const float squares =
        lane_sum(count, [&](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    const float inverse = 1 / std::sqrt(squares / static_cast<float>(count) + epsilon);
    moments[2 * g] = mean;
    moments[2 * g + 1] = inverse;
    for (std::int64_t c = 0; c < s.channels; ++c, x += s.pixels, y += s.pixels) {
      const std::int64_t channel = g % s.groups * s.channels + c;
      const float factor = inverse * weight[channel], offset = bias[channel];
      for (std::int64_t i = 0; i < s.pixels; ++i)
        y[i] = (x[i] - mean) * factor + offset;
    }
  }
}

THALWEG_SIMD void normalise_backward(const GroupNormSizes& s, const float* __restrict x,
                                     const float* __restrict dy, const float* __restrict weight,
                                     const float* __restrict moments, float* __restrict d_weight,
                                     float* __restrict d_bias, float* __restrict dx) {
  const auto count = static_cast<float>(s.count());
  std::fill_n(d_weight, s.groups * s.channels, 0.0f);
  std::fill_n(d_bias, s.groups * s.channels, 0.0f);
  for (std::int64_t g = 0; g < s.samples * s.groups; ++g) {
    const float mean = moments[2 * g], inverse = moments[2 * g + 1];
    float gradients = 0, along = 0;
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const std::int64_t channel = g % s.groups * s.channels + c;
      const float *xc = x + c * s.pixels, *dyc = dy + c * s.pixels;
      const float sum = lane_sum(s.pixels, [&](std::int64_t i) { return dyc[i]; });
      const float turned =
          lane_sum(s.pixels, [&](std::int64_t i) { return dyc[i] * ((xc[i] - mean) * inverse); });
      d_bias[channel] += sum;
      d_weight[channel] += turned;
      gradients += weight[channel] * sum;
      along += weight[channel] * turned;
    }
    gradients /= count;
    along /= count;
    for (std::int64_t c = 0; c < s.channels; ++c, x += s.pixels, dy += s.pixels, dx += s.pixels) {
      const float factor = weight[g % s.groups * s.channels + c];
      for (std::int64_t i = 0; i < s.pixels; ++i)
        dx[i] = inverse * (dy[i] * factor - gradients - (x[i] - mean) * inverse * along);
    }
  }
}

}  // namespace

TensorId group_norm(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t groups = layer.options_as<GroupNormOptions>().groups, channels = layer.in[0];
  const GroupNormSizes s{b.samples(), groups, channels / groups, elements(layer.in) / channels};
  const auto epsilon = static_cast<float>(layer.options_as<GroupNormOptions>().epsilon);
  const TensorId ordered = b.in_plain_order(Builder::Pass::both, given);
  const Desc layout = plain_desc(dims_of(b.desc(ordered)));
  const TensorId x = b.in_layout(Builder::Pass::both, ordered, layout);
  const Desc row({channels}, f32, Tag::a);
  const TensorId weight = b.parameter(node.first_parameter, row, row);
  const TensorId bias = b.parameter(node.first_parameter + 1, row, row);
  const TensorId moments = b.activation(Desc({2 * s.samples * groups}, f32, Tag::a));
  const TensorId y = b.activation(layout);
  b.kernel(Builder::Pass::both, {x, weight, bias, moments, y}, [=](const Frame& frame) {
    normalise(s, epsilon, frame.floats(x), frame.floats(weight), frame.floats(bias),
              frame.floats(moments), frame.floats(y));
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, layout);
    const TensorId dx = b.activation(layout);
    const TensorId d_weight = b.gradient(node.first_parameter);
    const TensorId d_bias = b.gradient(node.first_parameter + 1);
    b.kernel(Builder::Pass::backward, {x, dy, weight, moments, d_weight, d_bias, dx},
             [=](const Frame& frame) {
               normalise_backward(s, frame.floats(x), frame.floats(dy), frame.floats(weight),
                                  frame.floats(moments), frame.floats(d_weight),
                                  frame.floats(d_bias), frame.floats(dx));
             });
    b.ready(node.first_parameter);
    b.ready(node.first_parameter + 1);
    return b.out_of_plain_order(dx, given);
  });
  return y;
}

}  // namespace thalweg::engine::cpu
