// attention on oneDNN's batched products, which read queries, keys and values where they lie; the
// softmax between them, scale and mask included, is a loop of our own. What each position looks at
// is kept for backward. A few samples at a time go through all of it while their scores lie in the
// cache.
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

/// Samples that go through all steps before the next ones come, so that their scores stay in the
/// second-level cache.
std::int64_t samples_at_once(const Sizes& all) {
  constexpr std::int64_t kBytes = 256 << 10, kMostTurns = 64;
  const std::int64_t sample = all.heads * all.positions * all.positions * 4;
  std::int64_t count = std::max(kBytes / sample, (all.samples + kMostTurns - 1) / kMostTurns);
  count = std::clamp<std::int64_t>(count, 1, all.samples);
  while (all.samples % count != 0)
    ++count;
  return count;
}

struct Parts {
  TensorId q, k, v;
  /// Of the samples from `first` on.
  static Parts of(Builder& b, TensorId x, const Sizes& s, std::int64_t first, bool swapped) {
    const std::int64_t width = s.heads * s.depth, start = first * s.positions * 3 * width;
    const auto part = [&](std::int64_t number) {
      return b.view(x, heads_of(s, 3, swapped), nullptr,
                    static_cast<std::size_t>(start + number * width));
    };
    return {part(0), part(1), part(2)};
  }
};

void add_product(Builder& b, Builder::Pass pass, TensorId left, TensorId right, TensorId result) {
  b.primitive(pass, forward(Matmul{b.desc(left), b.desc(right), b.desc(result)}),
              {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
}

struct Attention {
  Sizes s;  ///< of the samples at once
  TensorId x, looks;

  /// Scores of the samples from `first` on.
  TensorId square(Builder& b, TensorId of, std::int64_t first, Tag tag = Tag::abcd) const {
    const Dims dims{s.samples, s.heads, s.positions, s.positions};
    return b.view(of, Desc(dims, f32, tag), nullptr,
                  static_cast<std::size_t>(first * s.heads * s.positions * s.positions));
  }
  /// Rows of y or dy.
  TensorId rows(Builder& b, TensorId of, std::int64_t first) const {
    return b.view(of, heads_of(s, 1, false), nullptr,
                  static_cast<std::size_t>(first * s.positions * s.heads * s.depth));
  }

  void add_forward(Builder& b, std::int64_t first, TensorId y) const {
    const Parts parts = Parts::of(b, x, s, first, false);
    const TensorId scores = square(b, looks, first);
    const auto both = Builder::Pass::both;
    add_product(b, both, parts.q, Parts::of(b, x, s, first, true).k, scores);
    b.kernel(both, {scores},
             [s = s, scores](const Frame& frame) { softmax_rows(s, frame.floats(scores)); });
    add_product(b, both, scores, parts.v, rows(b, y, first));
  }

  void add_backward(Builder& b, std::int64_t first, TensorId dy, TensorId slopes,
                    TensorId dx) const {
    const Parts parts = Parts::of(b, x, s, first, false), d = Parts::of(b, dx, s, first, false);
    const TensorId d_rows = rows(b, dy, first), seen = square(b, looks, first);
    const auto back = Builder::Pass::backward;
    add_product(b, back, d_rows, Parts::of(b, x, s, first, true).v, slopes);
    add_product(b, back, square(b, looks, first, Tag::abdc), d_rows, d.v);
    b.kernel(back, {seen, slopes}, [s = s, seen, slopes](const Frame& frame) {
      softmax_backward(s, frame.floats(seen), frame.floats(slopes));
    });
    add_product(b, back, slopes, parts.k, d.q);
    add_product(b, back, square(b, slopes, 0, Tag::abdc), parts.q, d.k);
  }
};

}  // namespace

TensorId attention(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t heads = layer.integer("heads");
  const Sizes all{b.samples(), heads, layer.in[0], layer.out[1] / heads, layer.flag("causal")};
  Sizes s = all;
  s.samples = samples_at_once(all);
  const Desc in = plain_desc({all.samples, s.positions, layer.in[1]});
  const Desc out = plain_desc({all.samples, s.positions, layer.out[1]});
  const Attention a{s, b.in_layout(Builder::Pass::both, given, in),
                    b.activation(plain_desc({all.samples, s.heads, s.positions, s.positions}))};
  const TensorId y = b.activation(out);
  for (std::int64_t first = 0; first < all.samples; first += s.samples)
    a.add_forward(b, first, y);

  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, out);
    const TensorId dx = b.activation(in);
    const TensorId slopes =
        b.activation(plain_desc({s.samples, s.heads, s.positions, s.positions}));
    for (std::int64_t first = 0; first < all.samples; first += s.samples)
      a.add_backward(b, first, dy, slopes, dx);
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
