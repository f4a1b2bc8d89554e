// A graph's layers as the cuda device runs them: relu joined to what stands before it where that
// saves a pass, the sum of two branches to the batch_norm or linear layer that ends one of them,
// lstms to the one below them.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/layer.h"

namespace thalweg::engine::cuda {

struct Node {
  const LayerPlan* layer = nullptr;
  int value = 0;               ///< what it puts out, as LayerPlan::from counts
  std::vector<int> from;       ///< the layer's, then what is added after it
  int first_parameter = 0;     ///< number of the layer's first parameter in the graph
  std::size_t statistics = 0;  ///< where the layer's statistics start
  /// Of an lstm: those over it, of its width, of which each takes what the one before puts out and
  /// nobody else does. Their parameters follow its own.
  std::vector<const LayerPlan*> over;
  bool relu = false;  ///< a relu follows and is done here
  bool adds = false;  ///< before that, the last of `from` is added to what the layer puts out
  /// A flatten that only a linear layer takes: the features stay in the order in which the images
  /// lie.
  bool keeps_order = false;
  Shape images;  ///< of that linear layer: (c, h, w) of a sample, its weights take their order
};

/// A batch_norm with a sum and a relu joined: its backward may add two gradients up itself.
bool adds_before_relu(const Node& node);
/// Without the layers that were joined to others; of relu and leaky_relu before a max pool the pool
/// comes first. Points into `graph`.
std::vector<Node> fuse(const Graph& graph);

}  // namespace thalweg::engine::cuda
