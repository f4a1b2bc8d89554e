// group_norm: y = weight[c] (x - mean) / sqrt(variance + epsilon) + bias[c], with mean and variance
// over `groups` equal parts of a sample's channels, each with all its pixels (Wu and He, ECCV
// 2018); the variance is the biased one.
#include <algorithm>
#include <stdexcept>

#include "engine/device/reference/moments.h"
#include "engine/layers/group_norm/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void group_norm_plan(LayerPlan& layer, const jobspec::Options& options) {
  const std::int64_t channels = layer.in[0], groups = options.integer("groups");
  if (layer.in.size() == 2)
    throw std::invalid_argument("expects features, images or volumes, got " + to_text(layer.in));
  if (channels % groups != 0)
    throw std::invalid_argument("expects channels that " + std::to_string(groups) +
                                " groups divide, got " + to_text(layer.in));
  layer.out = layer.in;
  layer.parameters = {{"weight", {channels}, Init::ones, 0, 1, true},
                      {"bias", {channels}, Init::zeros, 0, 1, true}};
  layer.options = GroupNormOptions{groups, options.real("epsilon")};
}

/// Calls visit(where it begins, how many elements it has, function from element to channel) for
/// every group of every sample.
template <class Visit>
void for_each_group(const LayerPlan& layer, int samples, Visit visit) {
  const std::int64_t groups = layer.options_as<GroupNormOptions>().groups,
                     count = elements(layer.in) / groups;
  const std::int64_t pixels = elements(layer.in) / layer.in[0];
  for (std::int64_t g = 0; g < samples * groups; ++g) {
    const std::int64_t first = g % groups * (layer.in[0] / groups);
    visit(g * count, count, [=](std::int64_t i) { return first + i / pixels; });
  }
}

template <class T>
void group_norm_forward(const LayerPlan& layer, const Call<T>& call) {
  for_each_group(layer, call.samples(), [&](std::int64_t at, std::int64_t count, auto channel) {
    normalize(call, at, count, layer.options_as<GroupNormOptions>().epsilon, channel);
  });
}

template <class T>
void group_norm_backward(const LayerPlan& layer, const Call<T>& call) {
  std::fill_n(call.gradients[0], layer.in[0], T{0});
  std::fill_n(call.gradients[1], layer.in[0], T{0});
  for_each_group(layer, call.samples(), [&](std::int64_t at, std::int64_t count, auto channel) {
    normalize_backward(call, at, count, layer.options_as<GroupNormOptions>().epsilon, channel);
  });
}

}  // namespace

const Layer group_norm{group_norm_plan,
                       {group_norm_forward<float>, group_norm_backward<float>},
                       {group_norm_forward<double>, group_norm_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind group_norm() {
  return {.doc = "normalisation per sample over groups of channels",
          .options = {required("groups", "equal parts of the channels"), epsilon_option()},
          .reference = &reference::group_norm,
          .floats_on_cpu = true};
}

}  // namespace thalweg::engine::layers
