// Each group as a channel of InstanceNormalization: GroupNormalization came with opset 18.
#include "engine/layers/onnx.h"
#include "engine/layers/group_norm/options.h"

namespace thalweg::engine::onnx {

std::string group_norm(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                       const std::vector<std::string>& w) {
  const auto& [groups, epsilon] = layer.options_as<GroupNormOptions>();
  const auto count = static_cast<std::size_t>(groups);
  const std::string normal =
      b.node("InstanceNormalization",
             {b.reshape(x[0], {0, groups, -1}), b.floats({groups}, std::vector<float>(count, 1)),
              b.floats({groups}, std::vector<float>(count, 0))},
             {{"epsilon", static_cast<float>(epsilon)}});
  Integers whole{0}, channels{layer.in[0]};
  whole.insert(whole.end(), layer.in.begin(), layer.in.end());
  channels.resize(layer.in.size(), 1);
  const std::string scaled = b.node("Mul", {b.reshape(normal, whole), b.reshape(w[0], channels)});
  return b.node("Add", {scaled, b.reshape(w[1], channels)});
}

}  // namespace thalweg::engine::onnx
