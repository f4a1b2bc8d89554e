// attention: queries, keys and values are read where they are, in one tensor; see cuda_attend.h.
#include "engine/layers/attention/cuda_attend.h"
#include "engine/layers/attention/options.h"

namespace thalweg::engine::cuda {

TensorId attention(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const auto& [heads, causal] = layer.options_as<AttentionOptions>();
  const std::int64_t positions = layer.in[0], width = layer.out[1];
  const TensorId x = b.in_type(Builder::Pass::both, given, b.type());
  const auto part = [=](std::int64_t number) { return Heads{x, number * width, 3 * width}; };
  const Attention a{b.samples(), heads,   positions, positions, width / heads,
                    causal,      part(0), part(1),   part(2)};
  const Attended of = attend(b, a);
  b.on_backward([=, &b](TensorId dy) {
    const TensorId dx = b.like(x);
    attend_backward(b, a, of, dy, dx, dx, dx);
    return dx;
  });
  return of.y;
}

}  // namespace thalweg::engine::cuda
