// Flatten.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string flatten(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                    const std::vector<std::string>&) {
  return b.node("Flatten", x, {{"axis", std::int64_t{1}}});
}

}  // namespace thalweg::engine::onnx
