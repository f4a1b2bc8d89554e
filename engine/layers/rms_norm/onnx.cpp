// Made of its formula: RMSNormalization came with opset 23.
#include "engine/layers/onnx.h"
#include "engine/layers/rms_norm/options.h"

namespace thalweg::engine::onnx {

std::string rms_norm(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                     const std::vector<std::string>& w) {
  const double epsilon = layer.options_as<RmsNormOptions>().epsilon;
  const std::string mean =
      b.node("ReduceMean", {b.node("Mul", {x[0], x[0]})}, {{"axes", Integers{-1}}});
  const std::string root =
      b.node("Sqrt", {b.node("Add", {mean, b.number(static_cast<float>(epsilon))})});
  return b.node("Mul", {b.node("Div", {x[0], root}), w[0]});
}

}  // namespace thalweg::engine::onnx
