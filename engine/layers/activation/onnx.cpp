// The activations; GELU by Erf, which opset 17 has (Gelu itself came with 20).
#include <numbers>

#include "engine/layers/activation/options.h"
#include "engine/layers/onnx.h"

namespace thalweg::engine::onnx {

std::string leaky_relu(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>&) {
  const double slope = layer.options_as<LeakyReluOptions>().slope;
  return b.node("LeakyRelu", x, {{"alpha", static_cast<float>(slope)}});
}

std::string tanh(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                 const std::vector<std::string>&) {
  const double scale = layer.options_as<TanhOptions>().scale;
  const std::string y = b.node("Tanh", x);
  return scale == 1 ? y : b.node("Mul", {y, b.number(static_cast<float>(scale))});
}

std::string sigmoid(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                    const std::vector<std::string>&) {
  return b.node("Sigmoid", x);
}

std::string gelu(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                 const std::vector<std::string>&) {
  const std::string scaled =
      b.node("Mul", {x[0], b.number(static_cast<float>(1 / std::numbers::sqrt2))});
  const std::string share = b.node("Add", {b.node("Erf", {scaled}), b.number(1)});
  return b.node("Mul", {b.node("Mul", {x[0], share}), b.number(0.5f)});
}

std::string silu(Builder& b, const LayerPlan&, const std::vector<std::string>& x,
                 const std::vector<std::string>&) {
  return b.node("Mul", {x[0], b.node("Sigmoid", x)});
}

}  // namespace thalweg::engine::onnx
