// repeat: features, as they are, at each of `positions`.
#include <algorithm>
#include <stdexcept>

#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void repeat_plan(LayerPlan& layer, const jobspec::Options& options) {
  if (layer.in.size() != 1)
    throw std::invalid_argument("expects flat features, got " + to_text(layer.in));
  layer.out = {options.integer("positions"), layer.in[0]};
}

template <class T>
void repeat_forward(const LayerPlan& layer, const Call<T>& call) {
  const std::int64_t positions = layer.out[0], features = layer.out[1];
  for (std::int64_t row = 0; row < call.samples() * positions; ++row)
    std::copy_n(call.x + row / positions * features, features, call.y + row * features);
}

template <class T>
void repeat_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  const std::int64_t positions = layer.out[0], features = layer.out[1];
  std::fill_n(call.dx, call.samples() * features, T{0});
  for (std::int64_t row = 0; row < call.samples() * positions; ++row)
    for (std::int64_t i = 0; i < features; ++i)
      call.dx[row / positions * features + i] += call.dy[row * features + i];
}

}  // namespace

const Layer repeat{repeat_plan,
                   {repeat_forward<float>, repeat_backward<float>},
                   {repeat_forward<double>, repeat_backward<double>}};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind repeat() {
  return {.doc = "the same features at each position",
          .options = {required("positions", "how many")},
          .reference = &reference::repeat,
          .floats_on_cpu = true};
}

}  // namespace thalweg::engine::layers
