// By the running statistics.
#include "engine/layers/onnx.h"
#include "engine/layers/batch_norm/options.h"

namespace thalweg::engine::onnx {

std::string batch_norm(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>& w) {
  const double epsilon = layer.options_as<BatchNormOptions>().epsilon;
  return b.node("BatchNormalization", {x[0], w[0], w[1], w[2], w[3]},
                {{"epsilon", static_cast<float>(epsilon)}});
}

}  // namespace thalweg::engine::onnx
