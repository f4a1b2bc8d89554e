// Along the channels of images and volumes, else along the features.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string concat(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                   const std::vector<std::string>&) {
  const std::int64_t axis = layer.in.size() >= 3 ? 1 : static_cast<std::int64_t>(layer.in.size());
  return b.node("Concat", x, {{"axis", axis}});
}

}  // namespace thalweg::engine::onnx
