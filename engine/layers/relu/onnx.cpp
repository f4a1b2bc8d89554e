// Relu.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string relu(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                 const std::vector<std::string>&) {
  return b.node("Relu", x);
}

}  // namespace thalweg::engine::onnx
