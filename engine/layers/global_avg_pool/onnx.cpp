// GlobalAveragePool, without the sizes of 1 that it leaves.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string global_avg_pool(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                            const std::vector<std::string>&) {
  return b.node("Flatten", {b.node("GlobalAveragePool", x)}, {{"axis", std::int64_t{1}}});
}

}  // namespace thalweg::engine::onnx
