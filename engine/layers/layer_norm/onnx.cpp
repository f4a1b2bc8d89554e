// LayerNormalization, over the last size.
#include "engine/layers/onnx.h"
#include "engine/layers/layer_norm/options.h"

namespace thalweg::engine::onnx {

std::string layer_norm(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>& w) {
  const double epsilon = layer.options_as<LayerNormOptions>().epsilon;
  return b.node("LayerNormalization", {x[0], w[0], w[1]},
                {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(epsilon)}});
}

}  // namespace thalweg::engine::onnx
