// batch_norm: y = weight * (x - mean) / sqrt(variance + epsilon) + bias, per channel (Ioffe and
// Szegedy, ICML 2015). Training takes mean and (biased) variance over this shard's samples and
// pixels (`sync`: over those of all shards that it meets) and reports both as statistics;
// evaluation takes the running ones. Statistics: mean of every channel, then variance of every
// channel.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/device/meeting.h"
#include "engine/layers/batch_norm/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void batch_norm_plan(LayerPlan& layer, const jobspec::Options& options) {
  layer.out = layer.in;
  const std::int64_t channels = layer.in[0];
  const Init init = options.flag("zero_weight") ? Init::zeros : Init::ones;
  layer.parameters = {{"weight", {channels}, init, 0, 1, true},
                      {"bias", {channels}, Init::zeros, 0, 1, true}};
  const auto momentum = static_cast<float>(options.real("momentum"));
  layer.statistics = {{"mean", channels, 0, momentum}, {"variance", channels, 1, momentum}};
  layer.joins_shards = options.flag("sync");
  layer.options = BatchNormOptions{options.real("epsilon")};
}

/// The elements of one channel over the whole shard.
template <class Visit>
void for_each_of_channel(const LayerPlan& layer, int samples, std::int64_t channel, Visit visit) {
  const std::int64_t channels = layer.in[0], pixels = elements(layer.in) / channels;
  for (int n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < pixels; ++i)
      visit((n * channels + channel) * pixels + i);
}

/// The elements of a channel in this shard.
template <class T>
T count_of(const LayerPlan& layer, const Call<T>& call) {
  return static_cast<T>(call.samples() * (elements(layer.in) / layer.in[0]));
}

template <class T>
T shards_of(const LayerPlan& layer, const Call<T>& call) {
  const Meeting* meeting = call.batch->meeting;
  return layer.joins_shards && meeting != nullptr ? static_cast<T>(meeting->shards()) : T{1};
}

/// `values` are summed over all shards, where the layer is to do that.
template <class T>
void join(const LayerPlan& layer, const Call<T>& call, std::vector<T>& values) {
  if (!layer.joins_shards || call.batch->meeting == nullptr) return;
  std::vector<float> floats(values.begin(), values.end());
  call.batch->meeting->sum(call.batch->shard, floats.data(), floats.size());
  values.assign(floats.begin(), floats.end());
}

template <class T>
struct Measured {
  std::vector<T> mean, variance;  ///< by channel
};

template <class T>
Measured<T> measure(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t channels = layer.in[0];
  const T count = count_of(layer, call), shards = shards_of(layer, call);
  Measured<T> m;
  for (std::int64_t c = 0; c < channels; ++c) {
    T sum = 0;
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) { sum += call.x[i]; });
    m.mean.push_back(sum / count);
  }
  join(layer, call, m.mean);
  for (std::int64_t c = 0; c < channels; ++c) {
    T& mean = m.mean[static_cast<std::size_t>(c)];
    mean /= shards;
    T squares = 0;
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
      squares += (call.x[i] - mean) * (call.x[i] - mean);
    });
    m.variance.push_back(squares / count);
  }
  join(layer, call, m.variance);
  for (T& variance : m.variance)
    variance /= shards;
  return m;
}

template <class T>
void batch_norm_forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t channels = layer.in[0];
  const T epsilon = static_cast<T>(layer.options_as<BatchNormOptions>().epsilon);
  Measured<T> m;
  if (call.training) {
    m = measure(layer, call);
    std::copy(m.mean.begin(), m.mean.end(), call.statistics);
    std::copy(m.variance.begin(), m.variance.end(), call.statistics + channels);
  } else {
    m.mean.assign(call.running, call.running + channels);
    m.variance.assign(call.running + channels, call.running + 2 * channels);
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    const T mean = m.mean[at], scale = call.weights[0][c] / std::sqrt(m.variance[at] + epsilon);
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
      call.y[i] = (call.x[i] - mean) * scale + call.weights[1][c];
    });
  }
}

template <class T>
void batch_norm_backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t channels = layer.in[0];
  const Measured<T> m = measure(layer, call);
  std::vector<T> inverse, sums(static_cast<std::size_t>(2 * channels));
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    inverse.push_back(
        T{1} /
        std::sqrt(m.variance[at] + static_cast<T>(layer.options_as<BatchNormOptions>().epsilon)));
    T d_weight = 0, d_bias = 0;
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
      d_weight += call.dy[i] * (call.x[i] - m.mean[at]) * inverse[at];
      d_bias += call.dy[i];
    });
    call.gradients[0][c] = sums[at] = d_weight;
    call.gradients[1][c] = sums[at + static_cast<std::size_t>(channels)] = d_bias;
  }
  if (call.dx == nullptr) return;
  join(layer, call, sums);
  const T count = count_of(layer, call) * shards_of(layer, call);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    const T d_weight = sums[at], d_bias = sums[at + static_cast<std::size_t>(channels)];
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
      const T normal = (call.x[i] - m.mean[at]) * inverse[at];
      call.dx[i] = call.weights[0][c] * inverse[at] *
                   (call.dy[i] - d_bias / count - normal * d_weight / count);
    });
  }
}

}  // namespace

const Layer batch_norm{batch_norm_plan,
                       {batch_norm_forward<float>, batch_norm_backward<float>},
                       {batch_norm_forward<double>, batch_norm_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind batch_norm() {
  return {.doc = "normalisation per channel over the shard, or with sync over the whole batch",
          .options = {epsilon_option(),
                      float_option("momentum", 0.1, 0, 1,
                                   "weight of the newest batch in the running statistics"),
                      flag_option("zero_weight", false, "weights start at 0, not 1"),
                      flag_option("sync", false, "mean and variance over all shards of all ranks")},
          .reference = &reference::batch_norm,
          .fuses_relu = true,
          .masks_relu = true,
          .fuses_sum = true};
}

}  // namespace thalweg::engine::layers
