// attention on oneDNN's batched products, which read queries, keys and values where they lie; the
// softmax between them, scale and mask included, is a loop of our own. What each position looks at
// is kept for backward.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/exponential.h"
#include "engine/device/cpu/lane_sum.h"
#include "engine/device/cpu/layer.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

struct Sizes {
  std::int64_t samples, heads, positions, depth;
  bool causal;

  std::int64_t rows() const { return samples * heads * positions; }
  std::int64_t seen(std::int64_t row) const { return causal ? row % positions + 1 : positions; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(depth)); }
};

/// Scores become what each position looks at; what it does not see is 0.
THALWEG_SIMD void softmax_rows(const Sizes& sizes, float* __restrict scores) {
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  const float scale = sizes.scale();
  const std::int64_t width = sizes.positions;
  for (std::int64_t row = 0; row < sizes.rows(); ++row, scores += width) {
    const std::int64_t seen = sizes.seen(row);
    // Whole vectors only: what is unseen among them adds nothing that float could tell.
    const std::int64_t wide = std::min(width, (seen + 15) / 16 * 16);
    std::fill(scores + seen, scores + wide, kUnseen);
    const float largest = lane_max(wide, [&](std::int64_t i) { return scores[i]; });
    const float sum = lane_sum(wide, [&](std::int64_t i) {
      return scores[i] = exponential((scores[i] - largest) * scale);
    });
    const float inverse = 1 / sum;
    for (std::int64_t i = 0; i < wide; ++i)
      scores[i] *= inverse;
    std::fill(scores + seen, scores + width, 0.0f);
  }
}

/// Slopes of what is looked at become slopes of the scores, in place.
THALWEG_SIMD void softmax_backward(const Sizes& sizes, const float* __restrict looks,
                                   float* __restrict slopes) {
  const float scale = sizes.scale();
  const std::int64_t width = sizes.positions;
  for (std::int64_t row = 0; row < sizes.rows(); ++row, looks += width, slopes += width) {
    const std::int64_t seen = sizes.seen(row);
    const float mean = lane_sum(seen, [&](std::int64_t i) { return looks[i] * slopes[i]; });
    for (std::int64_t i = 0; i < seen; ++i)
      slopes[i] = scale * looks[i] * (slopes[i] - mean);
    std::fill(slopes + seen, slopes + width, 0.0f);
  }
}

/// Heads of (samples, positions, parts * width) as (samples, heads, positions, depth), or with the
/// last two swapped.
Desc heads_of(const Sizes& s, std::int64_t parts, bool swapped) {
  const std::int64_t row = parts * s.heads * s.depth;
  if (swapped)
    return Desc({s.samples, s.heads, s.depth, s.positions}, f32,
                Dims{s.positions * row, s.depth, 1, row});
  return Desc({s.samples, s.heads, s.positions, s.depth}, f32,
              Dims{s.positions * row, s.depth, row, 1});
}

struct Parts {
  TensorId q, k, v;
  static Parts of(Builder& b, TensorId x, const Sizes& s) {
    const auto width = static_cast<std::size_t>(s.heads * s.depth);
    const Desc heads = heads_of(s, 3, false);
    return {b.view(x, heads, nullptr), b.view(x, heads, nullptr, width),
            b.view(x, heads, nullptr, 2 * width)};
  }
};

void add_product(Builder& b, Builder::Pass pass, TensorId left, TensorId right, TensorId result) {
  b.primitive(pass, forward(Matmul{b.desc(left), b.desc(right), b.desc(result)}),
              {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
}

}  // namespace

TensorId attention(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t heads = layer.integer("heads");
  const Sizes s{b.samples(), heads, layer.in[0], layer.out[1] / heads, layer.flag("causal")};
  const Desc in = plain_desc({s.samples, s.positions, layer.in[1]});
  const Desc out = plain_desc({s.samples, s.positions, layer.out[1]});
  const TensorId x = b.in_layout(Builder::Pass::both, given, in);
  const Parts parts = Parts::of(b, x, s);
  const Desc square = plain_desc({s.samples, s.heads, s.positions, s.positions});
  const Desc square_swapped({s.samples, s.heads, s.positions, s.positions}, f32, Tag::abdc);
  const auto turned = [&](TensorId part, std::int64_t of_parts, std::size_t first) {
    return b.view(part, heads_of(s, of_parts, true), nullptr, first);
  };
  const auto width = static_cast<std::size_t>(layer.out[1]);

  const TensorId looks = b.activation(square), y = b.activation(out);
  const TensorId rows = b.view(y, heads_of(s, 1, false), nullptr);
  add_product(b, Builder::Pass::both, parts.q, turned(x, 3, width), looks);
  b.kernel(Builder::Pass::both, {looks},
           [=](const Frame& frame) { softmax_rows(s, frame.floats(looks)); });
  add_product(b, Builder::Pass::both, looks, parts.v, rows);

  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, out);
    const TensorId d_rows = b.view(dy, heads_of(s, 1, false), nullptr);
    const TensorId dx = b.activation(in), slopes = b.activation(square);
    const Parts d = Parts::of(b, dx, s);
    const auto back = Builder::Pass::backward;
    add_product(b, back, d_rows, b.view(x, heads_of(s, 3, true), nullptr, 2 * width), slopes);
    add_product(b, back, b.view(looks, square_swapped, nullptr), d_rows, d.v);
    b.kernel(back, {looks, slopes}, [=](const Frame& frame) {
      softmax_backward(s, frame.floats(looks), frame.floats(slopes));
    });
    add_product(b, back, slopes, parts.k, d.q);
    add_product(b, back, b.view(slopes, square_swapped, nullptr), parts.q, d.k);
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
