// Resize to the nearest, by whole factors.
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string upsample(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                     const std::vector<std::string>&) {
  std::vector<float> scales(layer.in.size() + 1, 1);
  for (std::size_t d = 1; d < layer.in.size(); ++d)
    scales[d + 1] = static_cast<float>(layer.out[d] / layer.in[d]);
  const std::string factors = b.floats({static_cast<std::int64_t>(scales.size())}, scales);
  return b.node("Resize", {x[0], "", factors},
                {{"mode", std::string("nearest")},
                 {"coordinate_transformation_mode", std::string("asymmetric")},
                 {"nearest_mode", std::string("floor")}});
}

}  // namespace thalweg::engine::onnx
