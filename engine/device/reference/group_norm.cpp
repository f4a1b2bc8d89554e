// group_norm: y = weight[c] (x - mean) / sqrt(variance + epsilon) + bias[c], with mean and variance
// over `groups` equal parts of a sample's channels, each with all its pixels (Wu and He, ECCV
// 2018); the variance is the biased one.
#include <algorithm>
#include <stdexcept>

#include "engine/device/reference/layer.h"
#include "engine/device/reference/moments.h"

namespace thalweg::engine::reference {
namespace {

void plan(LayerPlan& layer) {
  const std::int64_t channels = layer.in[0], groups = layer.integer("groups");
  if (layer.in.size() == 2)
    throw std::invalid_argument("expects features, images or volumes, got " + to_text(layer.in));
  if (channels % groups != 0)
    throw std::invalid_argument("expects channels that " + std::to_string(groups) +
                                " groups divide, got " + to_text(layer.in));
  layer.out = layer.in;
  layer.parameters = {{"weight", {channels}, Init::ones, 0, 1, true},
                      {"bias", {channels}, Init::zeros, 0, 1, true}};
}

/// One group of one sample: where it begins, its first channel.
template <class Visit>
void for_each_group(const LayerPlan& layer, int samples, Visit visit) {
  const std::int64_t groups = layer.integer("groups"), count = elements(layer.in) / groups;
  for (std::int64_t g = 0; g < samples * groups; ++g)
    visit(g * count, g % groups * (layer.in[0] / groups));
}

template <class T>
void forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t count = elements(layer.in) / layer.integer("groups");
  const std::int64_t pixels = elements(layer.in) / layer.in[0];
  for_each_group(layer, call.samples(), [&](std::int64_t at, std::int64_t channel) {
    const Moments<T> m(call.x + at, count, layer.real("epsilon"));
    for (std::int64_t i = 0; i < count; ++i)
      call.y[at + i] =
          (call.x[at + i] - m.mean) * m.inverse * call.weights[0][channel + i / pixels] +
          call.weights[1][channel + i / pixels];
  });
}

template <class T>
void backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t count = elements(layer.in) / layer.integer("groups");
  const std::int64_t pixels = elements(layer.in) / layer.in[0];
  std::fill_n(call.gradients[0], layer.in[0], T{0});
  std::fill_n(call.gradients[1], layer.in[0], T{0});
  for_each_group(layer, call.samples(), [&](std::int64_t at, std::int64_t channel) {
    const Moments<T> m(call.x + at, count, layer.real("epsilon"));
    T slopes = 0, along = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t c = channel + i / pixels;
      const T normal = (call.x[at + i] - m.mean) * m.inverse;
      call.gradients[0][c] += call.dy[at + i] * normal;
      call.gradients[1][c] += call.dy[at + i];
      slopes += call.dy[at + i] * call.weights[0][c];
      along += call.dy[at + i] * call.weights[0][c] * normal;
    }
    for (std::int64_t i = 0; call.dx != nullptr && i < count; ++i) {
      const T normal = (call.x[at + i] - m.mean) * m.inverse;
      call.dx[at + i] =
          m.inverse * (call.dy[at + i] * call.weights[0][channel + i / pixels] -
                       slopes / static_cast<T>(count) - normal * along / static_cast<T>(count));
    }
  });
}

}  // namespace

const Layer group_norm{
    plan, {forward<float>, backward<float>}, {forward<double>, backward<double>}};

}  // namespace thalweg::engine::reference
