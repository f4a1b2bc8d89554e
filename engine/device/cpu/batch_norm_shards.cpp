// batch_norm over all shards of a step. Forward: oneDNN measures this shard, the shards exchange
// means, then variances about the common mean; oneDNN normalises with what came out. Backward:
// oneDNN takes mean and variance as given,
//   dx = weight / deviation * dy,
// and what is missing, that both depend on x, is an affine function of the normalised x: with the
// sums over all N elements of a channel, d_weight and d_bias,
//   dx -= weight / deviation * (d_bias / N + normalised x * d_weight / N).
#include <cmath>
#include <vector>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/layer.h"
#include "engine/device/meeting.h"

namespace thalweg::engine::cpu {
namespace {

/// Nothing to exchange where the shard stands alone.
void sum_over_shards(const Batch& batch, float* values, std::size_t count) {
  if (batch.meeting != nullptr) batch.meeting->sum(batch.shard, values, count);
}

float shards_of(const Batch& batch) {
  return batch.meeting == nullptr ? 1.0f : static_cast<float>(batch.meeting->shards());
}

/// Means and variances of this shard, one after the other, become those of all.
void join(const Batch& batch, std::size_t channels, float* mean, float* variance) {
  if (batch.meeting == nullptr) return;
  const float shards = shards_of(batch);
  const std::vector<float> own(mean, mean + channels);
  sum_over_shards(batch, mean, channels);
  for (std::size_t c = 0; c < channels; ++c) {
    mean[c] /= shards;
    variance[c] += (own[c] - mean[c]) * (own[c] - mean[c]);
  }
  sum_over_shards(batch, variance, channels);
  for (std::size_t c = 0; c < channels; ++c)
    variance[c] /= shards;
}

}  // namespace

TensorId batch_norm_over_shards(Builder& b, const Node& node, TensorId input) {
  using dnnl::normalization_flags;
  const std::int64_t channels = node.layer->in[0];
  const auto count = static_cast<std::size_t>(channels);
  const auto epsilon = static_cast<float>(node.layer->real("epsilon"));
  const int weight = node.first_parameter;
  const auto affine = normalization_flags::use_scale | normalization_flags::use_shift;
  const auto fixed = affine | normalization_flags::use_global_stats;
  const auto flags = node.relu ? fixed | normalization_flags::fuse_norm_relu : fixed;
  const bool wants_dx = b.wants_input_gradient();
  const TensorId plain = b.in_plain_order(Builder::Pass::both, input);
  const Desc given = b.desc(plain);
  const bool features = dims_of(given).size() == 2;
  const Desc images =
      features ? Desc({dims_of(given)[0], channels, 1, 1}, type_of(given), Tag::acdb) : given;
  const TensorId x = b.view(plain, images, nullptr);
  const Desc row({channels}, f32, Tag::a);
  const TensorId scale = b.parameter(weight, row, row), shift = b.parameter(weight + 1, row, row);
  const TensorId mean = b.statistic(node.statistics, row);
  const TensorId variance = b.statistic(node.statistics + count, row);
  const TensorId y = b.activation(images);

  const auto training = Builder::Pass::training;
  b.primitive(training, batch_norm_forward(images, epsilon, affine, true),
              {{DNNL_ARG_SRC, x},
               {DNNL_ARG_DST, y},
               {DNNL_ARG_SCALE, scale},
               {DNNL_ARG_SHIFT, shift},
               {DNNL_ARG_MEAN, mean},
               {DNNL_ARG_VARIANCE, variance}});
  b.kernel(training, {mean, variance}, [=](const Frame& frame) {
    join(*frame.batch, count, frame.floats(mean), frame.floats(variance));
  });
  const auto normalise = batch_norm_forward(images, epsilon, flags, true);
  const bool keeps = node.relu && normalise.workspace_desc().get_size() > 0;
  const TensorId mask = keeps ? b.activation(normalise.workspace_desc()) : -1;
  Arguments arguments{{DNNL_ARG_SRC, x},       {DNNL_ARG_DST, y},
                      {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, shift},
                      {DNNL_ARG_MEAN, mean},   {DNNL_ARG_VARIANCE, variance}};
  if (keeps) arguments.emplace_back(DNNL_ARG_WORKSPACE, mask);
  b.primitive(training, normalise, arguments);
  b.primitive(Builder::Pass::evaluation, batch_norm_forward(images, epsilon, flags, false),
              {{DNNL_ARG_SRC, x},
               {DNNL_ARG_DST, y},
               {DNNL_ARG_SCALE, scale},
               {DNNL_ARG_SHIFT, shift},
               {DNNL_ARG_MEAN, b.running(node.statistics, row)},
               {DNNL_ARG_VARIANCE, b.running(node.statistics + count, row)}});

  b.on_backward([=, &b](TensorId dy) {
    const auto back = Builder::Pass::backward;
    dy = b.view(b.in_layout(back, dy, given), images, nullptr);
    const TensorId dx = b.activation(images);
    const TensorId d_scale = b.gradient(weight), d_shift = b.gradient(weight + 1);
    Arguments backward_arguments{
        {DNNL_ARG_SRC, x},       {DNNL_ARG_MEAN, mean},          {DNNL_ARG_VARIANCE, variance},
        {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_SCALE, scale},        {DNNL_ARG_SHIFT, shift},
        {DNNL_ARG_DIFF_SRC, dx}, {DNNL_ARG_DIFF_SCALE, d_scale}, {DNNL_ARG_DIFF_SHIFT, d_shift}};
    if (keeps) backward_arguments.emplace_back(DNNL_ARG_WORKSPACE, mask);
    b.primitive(back, batch_norm_backward(images, epsilon, flags, normalise), backward_arguments);
    const auto tell = [&] {
      b.ready(weight);
      b.ready(weight + 1);
    };
    if (!wants_dx) {
      tell();
      return dx;
    }
    const TensorId slope = b.activation(row), offset = b.activation(row);
    const std::int64_t elements_each = elements(Shape(dims_of(images))) / channels;
    b.kernel(back, {d_scale, d_shift, scale, variance, slope, offset}, [=](const Frame& frame) {
      std::vector<float> sums(frame.floats(d_scale), frame.floats(d_scale) + count);
      sums.insert(sums.end(), frame.floats(d_shift), frame.floats(d_shift) + count);
      sum_over_shards(*frame.batch, sums.data(), sums.size());
      const float all = static_cast<float>(elements_each) * shards_of(*frame.batch);
      for (std::size_t c = 0; c < count; ++c) {
        const float factor =
            -frame.floats(scale)[c] / std::sqrt(frame.floats(variance)[c] + epsilon) / all;
        frame.floats(slope)[c] = factor * sums[c];
        frame.floats(offset)[c] = factor * sums[count + c];
      }
    });
    tell();  // once told, others may change the gradients
    const TensorId missing = b.activation(images);
    b.primitive(back, batch_norm_forward(images, epsilon, fixed, false),
                {{DNNL_ARG_SRC, x},
                 {DNNL_ARG_DST, missing},
                 {DNNL_ARG_SCALE, slope},
                 {DNNL_ARG_SHIFT, offset},
                 {DNNL_ARG_MEAN, mean},
                 {DNNL_ARG_VARIANCE, variance}});
    b.add_in_place(dx, missing);
    return b.out_of_plain_order(b.view(dx, given, nullptr), input);
  });
  return b.view(y, given, nullptr);
}

}  // namespace thalweg::engine::cpu
