// Expand along a new size.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string repeat(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                   const std::vector<std::string>&) {
  const std::string row = b.node("Unsqueeze", {x[0], b.integers({1})});
  return b.node("Expand", {row, b.integers({1, layer.out[0], 1})});
}

}  // namespace thalweg::engine::onnx
