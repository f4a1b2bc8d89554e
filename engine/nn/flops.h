// Floating point operations of a graph. What a layer does stands in its own folder
// (reference::LayerFlops); here is only which layers of a graph need the gradients of their inputs.
#pragma once

#include <vector>

#include "engine/device/layer.h"

namespace thalweg::engine {

/// For one sample, counted as reference::LayerFlops says: activation checkpointing's second forward
/// is not in it, nor the optimizer's update.
struct Flops {
  double forward = 0;
  double backward = 0;
  double training() const { return forward + backward; }  ///< of a step
};

/// Of each layer of the graph, in its order.
std::vector<Flops> layer_flops(const Graph& graph);
/// Their sum.
Flops flops_of(const Graph& graph);
/// As people count: no padding.
std::int64_t parameter_count(const LayerPlan& layer);
/// Of all layers.
std::int64_t parameter_count(const Graph& graph);

}  // namespace thalweg::engine
