// cross_attention on oneDNN's batched products, which read queries, keys and values where they lie;
// the softmax between them, scale included, is a loop of our own.
#include <cmath>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/exponential.h"
#include "engine/device/cpu/lane_sum.h"
#include "engine/layers/cross_attention/options.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

struct CrossAttentionSizes {
  std::int64_t samples, heads, positions, others, depth;

  std::int64_t width() const { return heads * depth; }
  std::int64_t rows() const { return samples * heads * positions; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(depth)); }
};

/// Scores become what each position looks at.
THALWEG_SIMD void softmax(const CrossAttentionSizes& s, float* __restrict scores) {
  const float scale = s.scale();
  for (std::int64_t row = 0; row < s.rows(); ++row, scores += s.others) {
    const float largest = lane_max(s.others, [&](std::int64_t i) { return scores[i]; });
    const float sum = lane_sum(s.others, [&](std::int64_t i) {
      return scores[i] = exponential((scores[i] - largest) * scale);
    });
    const float inverse = 1 / sum;
    for (std::int64_t i = 0; i < s.others; ++i)
      scores[i] *= inverse;
  }
}

/// Gradients of what is looked at become gradients of the scores, in place.
THALWEG_SIMD void softmax_gradients(const CrossAttentionSizes& s, const float* __restrict looks,
                                    float* __restrict gradients) {
  const float scale = s.scale();
  for (std::int64_t row = 0; row < s.rows(); ++row, looks += s.others, gradients += s.others) {
    const float mean = lane_sum(s.others, [&](std::int64_t i) { return looks[i] * gradients[i]; });
    for (std::int64_t i = 0; i < s.others; ++i)
      gradients[i] = scale * looks[i] * (gradients[i] - mean);
  }
}

/// Heads of (samples, positions, parts * width) as (samples, heads, positions, depth), or with the
/// last two swapped.
Desc heads_of(const CrossAttentionSizes& s, std::int64_t positions, std::int64_t parts,
              bool swapped) {
  const std::int64_t row = parts * s.width();
  if (swapped)
    return Desc({s.samples, s.heads, s.depth, positions}, f32,
                Dims{positions * row, s.depth, 1, row});
  return Desc({s.samples, s.heads, positions, s.depth}, f32,
              Dims{positions * row, s.depth, row, 1});
}

}  // namespace

TensorId cross_attention(Builder& b, const Node& node, TensorId) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t heads = layer.options_as<CrossAttentionOptions>().heads;
  const CrossAttentionSizes s{b.samples(), heads, layer.ins[0][0], layer.ins[1][0],
                              layer.out[1] / heads};
  const auto both = Builder::Pass::both, back = Builder::Pass::backward;
  const Desc of_q = plain_desc({s.samples, s.positions, s.width()});
  const Desc of_kv = plain_desc({s.samples, s.others, 2 * s.width()});
  const Desc square = plain_desc({s.samples, s.heads, s.positions, s.others});
  // The memory of `square` with the last two sizes exchanged.
  const Desc turned({s.samples, s.heads, s.others, s.positions}, f32, Tag::abdc);
  const auto width = static_cast<std::size_t>(s.width());
  const TensorId q = b.in_layout(both, b.input(0), of_q), kv = b.in_layout(both, b.input(1), of_kv);
  const auto queries = [=, &b](TensorId of) {
    return b.view(of, heads_of(s, s.positions, 1, false), nullptr);
  };
  const auto others = [=, &b](TensorId of, bool values, bool swapped) {
    return b.view(of, heads_of(s, s.others, 2, swapped), nullptr, values ? width : 0);
  };

  const TensorId looks = b.activation(square), y = b.activation(of_q);
  add_matmul(b, both, queries(q), others(kv, false, true), looks);
  b.kernel(both, {looks}, [=](const Frame& frame) { softmax(s, frame.floats(looks)); });
  add_matmul(b, both, looks, others(kv, true, false), queries(y));

  b.on_backward_to_all([=, &b](TensorId dy) -> std::vector<TensorId> {
    dy = b.in_layout(back, dy, of_q);
    const TensorId dq = b.activation(of_q), dkv = b.activation(of_kv),
                   gradients = b.activation(square);
    add_matmul(b, back, queries(dy), others(kv, true, true), gradients);
    add_matmul(b, back, b.view(looks, turned, nullptr), queries(dy), others(dkv, true, false));
    b.kernel(back, {looks, gradients}, [=](const Frame& frame) {
      softmax_gradients(s, frame.floats(looks), frame.floats(gradients));
    });
    add_matmul(b, back, gradients, others(kv, false, false), queries(dq));
    add_matmul(b, back, b.view(gradients, turned, nullptr), queries(q), others(dkv, false, false));
    return {dq, dkv};
  });
  return y;
}

}  // namespace thalweg::engine::cpu
