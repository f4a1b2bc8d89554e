// Queries, keys and values are one tensor: split by a reshape.
#include "engine/layers/onnx.h"
#include "engine/layers/attention/options.h"

namespace thalweg::engine::onnx {

std::string attention(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                      const std::vector<std::string>&) {
  const auto& [heads, causal] = layer.options_as<AttentionOptions>();
  const std::int64_t positions = layer.out[0], width = layer.out[1], depth = width / heads;
  const std::string parts =
      b.transpose(b.reshape(x[0], {0, positions, 3, heads, depth}), {2, 0, 3, 1, 4});
  return b.attend(b.pick(parts, 0), b.pick(parts, 1), b.pick(parts, 2), positions, width, depth,
                  causal);
}

}  // namespace thalweg::engine::onnx
