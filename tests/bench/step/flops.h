// Arithmetic and memory traffic of a training step, counted from the graph: products and sums of
// convolutions, linear layers, lstms and attention; what is done once per element is left out, as
// if it were all joined to them.
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

/// Bytes that go to and from memory in a step of `samples` at least. Samples are read. What a
/// product puts out is written, read by what follows and read again by backward; its gradient is
/// written and read. Weights are read forward and backward; their gradients are written and read,
/// weights and the optimizer's `states` read and written, in floats. `value_bytes`: of a value
/// between layers.
double bytes_of(const Graph& graph, int samples, double value_bytes, int states);

}  // namespace thalweg::engine::bench
