// Gradients go back to the first layer with parameters and no further: nobody needs those of the
// samples, so layers before it, and its own products with the samples, have no such backward.
#include "engine/nn/flops.h"

#include "engine/device/reference/layer.h"

namespace thalweg::engine {

std::vector<Flops> layer_flops(const Graph& graph) {
  std::vector<Flops> all;
  std::vector<bool> learns{false};  // by value: whether it depends on a parameter
  for (const LayerPlan& layer : graph.layers) {
    bool before = false;
    for (const int value : layer.from)
      before = before || learns[static_cast<std::size_t>(value)];
    learns.push_back(before || !layer.parameters.empty());
    reference::LayerFlops own;
    if (const auto count = layer.kind->reference->flops; count != nullptr) own = count(layer);
    all.push_back({own.forward, own.own_gradients + (before ? own.input_gradients : 0)});
  }
  return all;
}

Flops flops_of(const Graph& graph) {
  Flops sum;
  for (const Flops& layer : layer_flops(graph)) {
    sum.forward += layer.forward;
    sum.backward += layer.backward;
  }
  return sum;
}

std::int64_t parameter_count(const LayerPlan& layer) {
  std::int64_t count = 0;
  for (const ParameterPlan& parameter : layer.parameters)
    count += elements(parameter.shape);
  return count;
}

std::int64_t parameter_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const LayerPlan& layer : graph.layers)
    count += parameter_count(layer);
  return count;
}

}  // namespace thalweg::engine
