// layer_norm: y = weight * (x - mean) / sqrt(variance + epsilon) + bias over the features of each
// position on its own (Ba, Kiros and Hinton, arXiv:1607.06450); the variance is the biased one.
#include <algorithm>

#include "engine/device/reference/layer.h"
#include "engine/device/reference/moments.h"

namespace thalweg::engine::reference {
namespace {

void plan(LayerPlan& layer) {
  layer.out = layer.in;
  const std::int64_t features = layer.in.back();
  layer.parameters = {{"weight", {features}, Init::ones, 0, 1, true},
                      {"bias", {features}, Init::zeros, 0, 1, true}};
}

template <class T>
void forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t features = layer.in.back();
  for (std::int64_t at = 0; at < call.samples() * elements(layer.in); at += features) {
    const Moments<T> m(call.x + at, features, layer.real("epsilon"));
    for (std::int64_t i = 0; i < features; ++i)
      call.y[at + i] =
          (call.x[at + i] - m.mean) * m.inverse * call.weights[0][i] + call.weights[1][i];
  }
}

template <class T>
void backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t features = layer.in.back();
  const T count = static_cast<T>(features);
  std::fill_n(call.gradients[0], features, T{0});
  std::fill_n(call.gradients[1], features, T{0});
  for (std::int64_t at = 0; at < call.samples() * elements(layer.in); at += features) {
    const Moments<T> m(call.x + at, features, layer.real("epsilon"));
    T slopes = 0, along = 0;
    for (std::int64_t i = 0; i < features; ++i) {
      const T normal = (call.x[at + i] - m.mean) * m.inverse;
      call.gradients[0][i] += call.dy[at + i] * normal;
      call.gradients[1][i] += call.dy[at + i];
      slopes += call.dy[at + i] * call.weights[0][i];
      along += call.dy[at + i] * call.weights[0][i] * normal;
    }
    for (std::int64_t i = 0; call.dx != nullptr && i < features; ++i) {
      const T normal = (call.x[at + i] - m.mean) * m.inverse;
      call.dx[at + i] = m.inverse * (call.dy[at + i] * call.weights[0][i] - slopes / count -
                                     normal * along / count);
    }
  }
}

}  // namespace

const Layer layer_norm{
    plan, {forward<float>, backward<float>}, {forward<double>, backward<double>}};

}  // namespace thalweg::engine::reference
