// A graph's layers as a device runs them: those joined to a neighbour that its kernels do along
// with it.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/layer.h"

namespace thalweg::engine {

/// What a device's kernels do along with another layer, where that saves a pass.
struct Joins {
  bool relu = false;        ///< with the layer before it that fuses_relu
  bool sums = false;        ///< of two branches, with the layer that ends one of them and fuses_sum
  bool stacks = false;      ///< stacked layers (LayerKind::stacks), with the lowest
  bool pool_first = false;  ///< of relu or leaky_relu before a max pool the pool comes first
  bool pool_masks = false;  ///< a max pool after a joined relu does that one's backward
};

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
  /// This max pool does the backward of the relu joined before it too: the relu's gradient at the
  /// largest element of a window is 1 where the pool's output is above 0, and there are fewer
  /// outputs than inputs.
  bool masks_relu_before = false;
  bool relu_masked_by_next = false;  ///< the other side of it
};

/// A batch_norm with a sum and a relu joined: its backward may add two gradients up itself.
bool adds_before_relu(const Node& node);
/// Without the layers that were joined to others; with none of `joins` a node for each layer.
/// Points into `graph`.
std::vector<Node> fuse(const Graph& graph, const Joins& joins);

}  // namespace thalweg::engine
