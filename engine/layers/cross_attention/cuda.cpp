// cross_attention: queries of the first input, keys and values concatenated in the second; see
// cuda_attend.h.
#include "engine/layers/attention/cuda_attend.h"
#include "engine/layers/cross_attention/options.h"

namespace thalweg::engine::cuda {

TensorId cross_attention(Builder& b, const Node& node, TensorId) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t heads = layer.options_as<CrossAttentionOptions>().heads, width = layer.out[1];
  const TensorId q = b.in_type(Builder::Pass::both, b.input(0), b.type());
  const TensorId kv = b.in_type(Builder::Pass::both, b.input(1), b.type());
  const Attention a{b.samples(),           heads, layer.ins[0][0], layer.ins[1][0],
                    width / heads,         false, {q, 0, width},   {kv, 0, 2 * width},
                    {kv, width, 2 * width}};
  const Attended of = attend(b, a);
  b.on_backward_to_all([=, &b](TensorId dy) -> std::vector<TensorId> {
    const TensorId dq = b.like(q), dkv = b.like(kv);
    attend_backward(b, a, of, dy, dq, dkv, dkv);
    return {dq, dkv};
  });
  return of.y;
}

}  // namespace thalweg::engine::cuda
