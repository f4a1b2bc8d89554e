// Sum, of any number of inputs.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string add(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                const std::vector<std::string>&) {
  return b.node("Sum", x);
}

}  // namespace thalweg::engine::onnx
