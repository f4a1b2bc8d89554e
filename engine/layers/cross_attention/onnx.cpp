// As attention, with the queries of the first input.
#include "engine/layers/onnx.h"
#include "engine/layers/cross_attention/options.h"

namespace thalweg::engine::onnx {

std::string cross_attention(Builder& b, const LayerPlan& layer, const std::vector<std::string>& x,
                            const std::vector<std::string>&) {
  const std::int64_t heads = layer.options_as<CrossAttentionOptions>().heads;
  const std::int64_t positions = layer.out[0], width = layer.out[1], depth = width / heads,
                     others = layer.ins[1][0];
  const std::string q = b.transpose(b.reshape(x[0], {0, positions, heads, depth}), {0, 2, 1, 3});
  const std::string parts =
      b.transpose(b.reshape(x[1], {0, others, 2, heads, depth}), {2, 0, 3, 1, 4});
  return b.attend(q, b.pick(parts, 0), b.pick(parts, 1), positions, width, depth, false);
}

}  // namespace thalweg::engine::onnx
