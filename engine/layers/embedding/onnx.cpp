// Rows by Gather.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string embedding(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                      const std::vector<std::string>& w) {
  return b.node("Gather", {w[0], x[0]}, {{"axis", std::int64_t{0}}});
}

std::string positions(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                      const std::vector<std::string>& w) {
  return b.node("Add", {x[0], w[0]});
}

}  // namespace thalweg::engine::onnx
