// group_norm: sums over each channel of each sample, which the groups join.
#include "engine/device/cuda/layout.h"
#include "engine/layers/batch_norm/cuda_channel_norm.h"
#include "engine/layers/group_norm/options.h"

namespace thalweg::engine::cuda {

TensorId group_norm(Builder& b, const Node& node, TensorId input) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t channels = layer.in[0];
  const auto& [groups, epsilon] = layer.options_as<GroupNormOptions>();
  const TensorId x = b.in_type(Builder::Pass::both, input, b.type());
  const Columns shape{b.samples(), places_of(b.desc(x).dims), channels};
  ChannelNorm norm = channel_norm(b, node, shape, channels / groups, epsilon, x);
  norm.mean = b.scratch(shape.outer * groups, sizeof(float));
  norm.variance = b.scratch(shape.outer * groups, sizeof(float));
  const TensorId y = b.like(x);
  measure(b, Builder::Pass::both, norm);
  normalize(b, Builder::Pass::both, norm, y);
  b.on_backward([=, &b](TensorId dy) {
    return normalize_backward(b, norm, b.in_type(Builder::Pass::backward, dy, b.type()));
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

}  // namespace thalweg::engine::cuda
