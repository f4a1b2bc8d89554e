// layer_norm: y = weight * (x - mean) / sqrt(variance + epsilon) + bias over the features of each
// position on its own (Ba, Kiros and Hinton, arXiv:1607.06450); the variance is the biased one.
#include <algorithm>

#include "engine/device/reference/moments.h"
#include "engine/layers/layer_norm/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void layer_norm_plan(LayerPlan& layer, const jobspec::Options& options) {
  layer.out = layer.in;
  const std::int64_t features = layer.in.back();
  layer.parameters = {{"weight", {features}, Init::ones, 0, 1, true},
                      {"bias", {features}, Init::zeros, 0, 1, true}};
  layer.options = LayerNormOptions{options.real("epsilon")};
}

constexpr auto same = [](std::int64_t feature) { return feature; };

template <class T>
void layer_norm_forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t features = layer.in.back();
  for (std::int64_t at = 0; at < call.samples() * elements(layer.in); at += features)
    normalize(call, at, features, layer.options_as<LayerNormOptions>().epsilon, same);
}

template <class T>
void layer_norm_backward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t features = layer.in.back();
  std::fill_n(call.gradients[0], features, T{0});
  std::fill_n(call.gradients[1], features, T{0});
  for (std::int64_t at = 0; at < call.samples() * elements(layer.in); at += features)
    normalize_backward(call, at, features, layer.options_as<LayerNormOptions>().epsilon, same);
}

}  // namespace

const Layer layer_norm{layer_norm_plan,
                       {layer_norm_forward<float>, layer_norm_backward<float>},
                       {layer_norm_forward<double>, layer_norm_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind layer_norm() {
  return {.doc = "normalisation over the features of each position",
          .options = {epsilon_option()},
          .reference = &reference::layer_norm};
}

}  // namespace thalweg::engine::layers
