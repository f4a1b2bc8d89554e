// batch_norm over all shards of a step. Forward: oneDNN measures this shard, the shards exchange
// means, then variances about the common mean; oneDNN normalises with what came out. Backward:
// oneDNN takes mean and variance as given,
//   dx = weight / deviation * dy,
// and what is missing, that both depend on x, is an affine function of the normalised x: with the
// sums over all N elements of a channel, d_weight and d_bias,
//   dx -= weight / deviation * (d_bias / N + normalised x * d_weight / N).
#include <cmath>
#include <vector>

#include "engine/device/meeting.h"
#include "engine/layers/batch_norm/cpu.h"

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
  using Pass = Builder::Pass;
  BatchNorm norm(b, node, input);
  const auto count = static_cast<std::size_t>(norm.channels);
  const TensorId mean = norm.mean, variance = norm.variance;
  b.primitive(Pass::training,
              batch_norm_forward(norm.images, norm.epsilon, BatchNorm::measured(), true),
              norm.arguments(norm.y));
  b.kernel(Pass::training, {mean, variance}, [=](const Frame& frame) {
    join(*frame.batch, count, frame.floats(mean), frame.floats(variance));
  });
  norm.normalize(b, BatchNorm::given());

  b.on_backward([=, &b](TensorId dy) {
    const TensorId dx = norm.add_gradients(b, dy);
    if (!norm.wants_dx) {
      norm.ready(b);
      return dx;
    }
    const TensorId scale = norm.scale, d_scale = b.gradient(norm.weight),
                   d_shift = b.gradient(norm.weight + 1);
    const TensorId coefficient = b.activation(norm.row), offset = b.activation(norm.row);
    const float epsilon = norm.epsilon;
    const std::int64_t elements_each = elements(Shape(dims_of(norm.images))) / norm.channels;
    const std::vector<TensorId> touched{d_scale, d_shift, scale, variance, coefficient, offset};
    b.kernel(Pass::backward, touched, [=](const Frame& frame) {
      std::vector<float> sums(frame.floats(d_scale), frame.floats(d_scale) + count);
      sums.insert(sums.end(), frame.floats(d_shift), frame.floats(d_shift) + count);
      sum_over_shards(*frame.batch, sums.data(), sums.size());
      const float all = static_cast<float>(elements_each) * shards_of(*frame.batch);
      for (std::size_t c = 0; c < count; ++c) {
        const float factor =
            -frame.floats(scale)[c] / std::sqrt(frame.floats(variance)[c] + epsilon) / all;
        frame.floats(coefficient)[c] = factor * sums[c];
        frame.floats(offset)[c] = factor * sums[count + c];
      }
    });
    norm.ready(b);  // once told, others may change the gradients
    const TensorId missing = b.activation(norm.images);
    b.primitive(Pass::backward, batch_norm_forward(norm.images, epsilon, BatchNorm::given(), false),
                {{DNNL_ARG_SRC, norm.x},
                 {DNNL_ARG_DST, missing},
                 {DNNL_ARG_SCALE, coefficient},
                 {DNNL_ARG_SHIFT, offset},
                 {DNNL_ARG_MEAN, mean},
                 {DNNL_ARG_VARIANCE, variance}});
    b.add_in_place(dx, missing);
    return norm.input_gradient(b, dx);
  });
  return norm.output(b);
}

}  // namespace thalweg::engine::cpu
