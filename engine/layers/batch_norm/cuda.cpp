// batch_norm: over the samples and places of the shard, joined with the sum of two branches and a
// relu that follow; the batch's mean and variance go straight to the statistics.
#include <stdexcept>

#include "engine/layers/batch_norm/cuda_channel_norm.h"
#include "engine/layers/batch_norm/options.h"

namespace thalweg::engine::cuda {
namespace {

/// Images and features lie with their channels innermost. Of (positions, features) the positions
/// are the channels: those are brought inside and back.
TensorId channels_inside(Builder& b, Builder::Pass pass, TensorId x) {
  const Shape& dims = b.desc(x).dims;
  if (dims.size() != 3) return x;
  return b.in_channels_last(pass, x, {dims[0], dims[1], dims[2], 1});
}
TensorId as_given(Builder& b, Builder::Pass pass, TensorId y, const Shape& dims) {
  if (dims.size() != 3) return y;
  return b.view(b.in_plain_order(pass, y), {dims, b.desc(y).type});
}

}  // namespace

TensorId batch_norm(Builder& b, const Node& node, TensorId input) {
  using Pass = Builder::Pass;
  const LayerPlan& layer = *node.layer;
  if (layer.joins_shards)
    throw std::invalid_argument(
        layer.name +
        ": sync takes mean and variance over all shards at once, but device cuda computes the "
        "shards of a GPU one after another; leave sync off or use device: cpu");
  const Shape dims = b.desc(input).dims;
  const std::int64_t channels = dims[1];
  const TensorId x = channels_inside(b, Pass::both, b.in_type(Pass::both, input, b.type()));
  const Columns shape{1, b.desc(x).count() / channels, channels};

  ChannelNorm norm =
      channel_norm(b, node, shape, 1, layer.options_as<BatchNormOptions>().epsilon, x);
  if (node.adds) norm.added = b.in_type(Pass::both, b.input(1), b.type());
  ChannelNorm evaluation = norm;
  evaluation.coefficients = b.scratch(norm_coefficients(norm.shape), sizeof(float));
  const std::size_t means = node.statistics, variances = means + static_cast<std::size_t>(channels);
  norm.mean = b.statistic(means, channels);
  norm.variance = b.statistic(variances, channels);
  evaluation.mean = b.running(means, channels);
  evaluation.variance = b.running(variances, channels);

  const TensorId y = b.like(x);
  measure(b, Pass::training, norm);
  normalize(b, Pass::training, norm, y);
  take_moments(b, Pass::evaluation, evaluation);
  normalize(b, Pass::evaluation, evaluation, y);

  if (node.adds && node.relu) b.keep(y);

  b.on_backward_to_all([=, &b, adds = node.adds](TensorId dy) {
    dy = b.in_type(Pass::backward, dy, b.type());
    ChannelNorm back = norm;
    if (adds && norm.shape.relu) {  // the other branch wants the gradient before the relu too
      back.y = y;
      back.other = b.second_gradient();
      if (back.other >= 0) back.other = b.in_type(Pass::backward, back.other, b.type());
      dy = b.writable(dy);
    }
    if (adds) back.shape.relu = false;
    const TensorId dx = normalize_backward(b, back, channels_inside(b, Pass::backward, dy));
    std::vector<TensorId> gradients{as_given(b, Pass::backward, dx, dims)};
    if (adds) gradients.push_back(dy);
    return gradients;
  });
  return b.in_type(Pass::both, as_given(b, Pass::both, y, dims), b.output_type());
}

}  // namespace thalweg::engine::cuda
