// batch_norm: y = weight * (x - mean) / sqrt(variance + epsilon) + bias, per channel (Ioffe and
// Szegedy, ICML 2015). Training takes mean and (biased) variance over this shard's samples and
// pixels and reports both as statistics; evaluation takes the running ones. Statistics: mean of
// every channel, then variance of every channel.
#include <cmath>

#include "engine/device/reference/layer.h"

namespace thalweg::engine::reference {
namespace {

void plan(LayerPlan& layer) {
  layer.out = layer.in;
  const std::int64_t channels = layer.in[0];
  const Init init = layer.flag("zero_weight") ? Init::zeros : Init::ones;
  layer.parameters = {{"weight", {channels}, init, 0, 1, true},
                      {"bias", {channels}, Init::zeros, 0, 1, true}};
  const auto momentum = static_cast<float>(layer.real("momentum"));
  layer.statistics = {{"mean", channels, 0, momentum}, {"variance", channels, 1, momentum}};
}

/// The elements of one channel over the whole shard.
template <class Visit>
void for_each_of_channel(const LayerPlan& layer, int samples, std::int64_t channel, Visit visit) {
  const std::int64_t channels = layer.in[0], pixels = elements(layer.in) / channels;
  for (int n = 0; n < samples; ++n)
    for (std::int64_t i = 0; i < pixels; ++i)
      visit((n * channels + channel) * pixels + i);
}

template <class T>
void measure(const LayerPlan& layer, const Call<T>& call, std::int64_t c, T* mean, T* variance) {
  const T count = static_cast<T>(call.samples() * (elements(layer.in) / layer.in[0]));
  T sum = 0, squares = 0;
  for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) { sum += call.x[i]; });
  *mean = sum / count;
  for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
    squares += (call.x[i] - *mean) * (call.x[i] - *mean);
  });
  *variance = squares / count;
}

template <class T>
void forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t channels = layer.in[0];
  const T epsilon = static_cast<T>(layer.real("epsilon"));
  for (std::int64_t c = 0; c < channels; ++c) {
    T mean, variance;
    if (call.training) {
      measure(layer, call, c, &mean, &variance);
      call.statistics[c] = mean;
      call.statistics[channels + c] = variance;
    } else {
      mean = call.running[c];
      variance = call.running[channels + c];
    }
    const T scale = call.weights[0][c] / std::sqrt(variance + epsilon);
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
      call.y[i] = (call.x[i] - mean) * scale + call.weights[1][c];
    });
  }
}

template <class T>
void backward(const LayerPlan& layer, const Call<T>& call) {
  const T count = static_cast<T>(call.samples() * (elements(layer.in) / layer.in[0]));
  for (std::int64_t c = 0; c < layer.in[0]; ++c) {
    T mean, variance;
    measure(layer, call, c, &mean, &variance);
    const T inverse = T{1} / std::sqrt(variance + static_cast<T>(layer.real("epsilon")));
    T d_weight = 0, d_bias = 0;
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
      d_weight += call.dy[i] * (call.x[i] - mean) * inverse;
      d_bias += call.dy[i];
    });
    call.gradients[0][c] = d_weight;
    call.gradients[1][c] = d_bias;
    if (call.dx == nullptr) continue;
    for_each_of_channel(layer, call.samples(), c, [&](std::int64_t i) {
      const T normal = (call.x[i] - mean) * inverse;
      call.dx[i] =
          call.weights[0][c] * inverse * (call.dy[i] - d_bias / count - normal * d_weight / count);
    });
  }
}

}  // namespace

const Layer batch_norm{
    plan, {forward<float>, backward<float>}, {forward<double>, backward<double>}};

}  // namespace thalweg::engine::reference
