// rms_norm: y = weight * x / sqrt(mean of x^2 + epsilon) over the features of each position on its
// own (Zhang and Sennrich, arXiv:1910.07467), as PyTorch's RMSNorm.
#include <algorithm>
#include <cmath>

#include "engine/layers/rms_norm/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void rms_norm_plan(LayerPlan& layer, const jobspec::Options& options) {
  layer.out = layer.in;
  layer.parameters = {{"weight", {layer.in.back()}, Init::ones, 0, 1, true}};
  layer.options = RmsNormOptions{options.real("epsilon")};
}

/// 1 / sqrt(mean of x^2 + epsilon) of a row.
template <class T>
T inverse_of(const LayerPlan& layer, const T* x) {
  T squares = 0;
  for (std::int64_t i = 0; i < layer.in.back(); ++i)
    squares += x[i] * x[i];
  return 1 / std::sqrt(squares / static_cast<T>(layer.in.back()) +
                       static_cast<T>(layer.options_as<RmsNormOptions>().epsilon));
}

template <class T>
void rms_norm_forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t features = layer.in.back();
  for (std::int64_t at = 0; at < call.samples() * elements(layer.in); at += features) {
    const T inverse = inverse_of(layer, call.x + at);
    for (std::int64_t i = 0; i < features; ++i)
      call.y[at + i] = call.weights[0][i] * call.x[at + i] * inverse;
  }
}

template <class T>
void rms_norm_backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t features = layer.in.back();
  std::fill_n(call.gradients[0], features, T{0});
  for (std::int64_t at = 0; at < call.samples() * elements(layer.in); at += features) {
    const T *x = call.x + at, *dy = call.dy + at;
    const T inverse = inverse_of(layer, x);
    T along = 0;
    for (std::int64_t i = 0; i < features; ++i) {
      call.gradients[0][i] += dy[i] * x[i] * inverse;
      along += dy[i] * call.weights[0][i] * x[i] * inverse;
    }
    along /= static_cast<T>(features);
    for (std::int64_t i = 0; call.dx != nullptr && i < features; ++i)
      call.dx[at + i] = inverse * (dy[i] * call.weights[0][i] - x[i] * inverse * along);
  }
}

}  // namespace

const Layer rms_norm{rms_norm_plan,
                     {rms_norm_forward<float>, rms_norm_backward<float>},
                     {rms_norm_forward<double>, rms_norm_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind rms_norm() {
  return {.doc = "normalisation by the root mean square of the features of each position",
          .options = {float_option("epsilon", 1e-5, 1e-12, 1, "added to the mean square")},
          .reference = &reference::rms_norm};
}

}  // namespace thalweg::engine::layers
