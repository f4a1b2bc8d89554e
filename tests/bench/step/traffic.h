// Memory traffic of a training step, counted from the graph; its arithmetic is engine/nn/flops.h.
#pragma once

#include "engine/device/layer.h"

namespace thalweg::engine::bench {

/// Bytes that go to and from memory in a step of `samples` at least. Samples are read. What a
/// product puts out is written, read by what follows and read again by backward; its gradient is
/// written and read. What is done once per element is left out, as if it were all joined to the
/// products. Weights are read forward and backward; their gradients are written and read, weights
/// and the optimizer's `states` read and written, in floats. `value_bytes`: of a value between
/// layers.
double bytes_of(const Graph& graph, int samples, double value_bytes, int states);

}  // namespace thalweg::engine::bench
