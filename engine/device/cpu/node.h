// A graph's layers as the cpu device runs them: relu joined to what stands before it where that
// saves a pass.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/layer.h"

namespace thalweg::engine::cpu {

struct Node {
  const LayerPlan* layer = nullptr;
  int value = 0;               ///< what it puts out, as LayerPlan::from counts
  int first_parameter = 0;     ///< number of the layer's first parameter in the graph
  std::size_t statistics = 0;  ///< where the layer's statistics start
  bool relu = false;           ///< a relu follows and is done here
  bool any_type = false;       ///< its maker takes values of any type; others get floats
  /// This max pool follows a fused relu and does its backward too: the relu's gradient at the
  /// largest element of a window is 1 where the pool's output is above 0, and there are fewer
  /// outputs than inputs.
  bool masks_relu_before = false;
  bool relu_masked_by_next = false;  ///< the other side of it
};

/// Without the relu layers that were joined to others. Points into `graph`.
std::vector<Node> fuse(const Graph& graph);

}  // namespace thalweg::engine::cpu
