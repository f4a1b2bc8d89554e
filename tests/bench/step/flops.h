// Arithmetic of a training step, counted from the graph: products and sums of convolutions, linear
// layers, lstms and attention; what is done once per element is left out.
#pragma once

#include "engine/device/layer.h"

namespace thalweg::engine::bench {

/// Floating point operations for one sample.
struct Flops {
  double forward = 0;
  double data_gradients = 0;  ///< none where only samples stand before a layer
  double weight_gradients = 0;
  double all() const { return forward + data_gradients + weight_gradients; }
};

Flops flops_of(const Graph& graph);

}  // namespace thalweg::engine::bench
