// A graph's layers as the cuda device runs them: relu joined to what stands before it where that
// saves a pass.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/layer.h"

namespace thalweg::engine::cuda {

struct Node {
  const LayerPlan* layer = nullptr;
  int value = 0;               ///< what it puts out, as LayerPlan::from counts
  int first_parameter = 0;     ///< number of the layer's first parameter in the graph
  std::size_t statistics = 0;  ///< where the layer's statistics start
  bool relu = false;           ///< a relu follows and is done here
  /// A flatten that only a linear layer takes: the features stay in the order in which the images
  /// lie.
  bool keeps_order = false;
  Shape images;  ///< of that linear layer: (c, h, w) of a sample, its weights take their order
};

/// Without the relu layers that were joined to others. Points into `graph`.
std::vector<Node> fuse(const Graph& graph);

}  // namespace thalweg::engine::cuda
