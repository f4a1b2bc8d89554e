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
#include "engine/device/cpu/types.h"
#include "engine/layers/attention/options.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

struct AttentionSizes {
  std::int64_t samples, heads, positions, depth;
  bool causal;

  std::int64_t rows() const { return samples * heads * positions; }
  std::int64_t seen(std::int64_t row) const { return causal ? row % positions + 1 : positions; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(depth)); }
};

/// What each position looks at from scores, which become scratch; what it does not see is 0.
template <class T>
THALWEG_INLINE void looks_of(const AttentionSizes& sizes, float* __restrict scores,
                             T* __restrict looks) {
  constexpr float kUnseen = -std::numeric_limits<float>::infinity();
  const float scale = sizes.scale();
  const std::int64_t width = sizes.positions;
  for (std::int64_t row = 0; row < sizes.rows(); ++row, scores += width, looks += width) {
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
      looks[i] = store<T>(scores[i] * inverse);
    std::fill(looks + seen, looks + width, T{});
  }
}

THALWEG_SIMD void softmax_rows(const AttentionSizes& sizes, float* scores, float* looks) {
  looks_of(sizes, scores, looks);
}
THALWEG_SIMD void softmax_rows(const AttentionSizes& sizes, float* scores, Bf16* looks) {
  looks_of(sizes, scores, looks);
}

/// Gradients of the scores from those of what is looked at.
template <class T>
THALWEG_INLINE void gradients_of(const AttentionSizes& sizes, const T* __restrict looks,
                                 const float* __restrict d_looks, T* __restrict gradients) {
  const float scale = sizes.scale();
  const std::int64_t width = sizes.positions;
  for (std::int64_t row = 0; row < sizes.rows(); ++row) {
    const std::int64_t seen = sizes.seen(row);
    const float mean = lane_sum(seen, [&](std::int64_t i) { return load(looks[i]) * d_looks[i]; });
    for (std::int64_t i = 0; i < seen; ++i)
      gradients[i] = store<T>(scale * load(looks[i]) * (d_looks[i] - mean));
    std::fill(gradients + seen, gradients + width, T{});
    looks += width, d_looks += width, gradients += width;
  }
}

THALWEG_SIMD void softmax_backward(const AttentionSizes& sizes, const float* looks,
                                   const float* d_looks, float* gradients) {
  gradients_of(sizes, looks, d_looks, gradients);
}
THALWEG_SIMD void softmax_backward(const AttentionSizes& sizes, const Bf16* looks,
                                   const float* d_looks, Bf16* gradients) {
  gradients_of(sizes, looks, d_looks, gradients);
}

/// Heads of (samples, positions, parts * width) as (samples, heads, positions, depth), or with the
/// last two swapped.
Desc heads_of(const AttentionSizes& s, Type type, std::int64_t parts, bool swapped) {
  const std::int64_t row = parts * s.heads * s.depth;
  if (swapped)
    return Desc({s.samples, s.heads, s.depth, s.positions}, type,
                Dims{s.positions * row, s.depth, 1, row});
  return Desc({s.samples, s.heads, s.positions, s.depth}, type,
              Dims{s.positions * row, s.depth, row, 1});
}

/// Samples that go through all steps before the next ones come, so that their scores stay in the
/// second-level cache.
std::int64_t samples_at_once(const AttentionSizes& all) {
  constexpr std::int64_t kBytes = 256 << 10, kMaxTurns = 64;
  const std::int64_t sample = all.heads * all.positions * all.positions * 4;
  std::int64_t count = std::max(kBytes / sample, (all.samples + kMaxTurns - 1) / kMaxTurns);
  count = std::clamp<std::int64_t>(count, 1, all.samples);
  while (all.samples % count != 0)
    ++count;
  return count;
}

struct Parts {
  TensorId q, k, v;
  /// Of the samples from `first` on.
  static Parts of(Builder& b, TensorId x, const AttentionSizes& s, std::int64_t first,
                  bool swapped) {
    const std::int64_t width = s.heads * s.depth, start = first * s.positions * 3 * width;
    const auto part = [&](std::int64_t number) {
      return b.view(x, heads_of(s, b.type(), 3, swapped), nullptr,
                    static_cast<std::size_t>(start + number * width));
    };
    return {part(0), part(1), part(2)};
  }
};

Desc square(const AttentionSizes& s, Type type, Tag tag = Tag::abcd) {
  return Desc({s.samples, s.heads, s.positions, s.positions}, type, tag);
}

struct Attention {
  AttentionSizes s;  ///< of the samples at once
  TensorId x, looks;

  /// What the samples from `first` on look at.
  TensorId looks_from(Builder& b, std::int64_t first, Tag tag) const {
    return b.view(looks, square(s, b.type(), tag), nullptr,
                  static_cast<std::size_t>(first * s.heads * s.positions * s.positions));
  }
  /// Rows of y or dy.
  TensorId rows(Builder& b, TensorId of, std::int64_t first) const {
    return b.view(of, heads_of(s, b.type(), 1, false), nullptr,
                  static_cast<std::size_t>(first * s.positions * s.heads * s.depth));
  }

  void add_forward(Builder& b, std::int64_t first, TensorId scores, TensorId y) const {
    const Parts parts = Parts::of(b, x, s, first, false);
    const TensorId seen = looks_from(b, first, Tag::abcd);
    const auto both = Builder::Pass::both;
    add_matmul(b, both, parts.q, Parts::of(b, x, s, first, true).k, scores);
    with_type(b.type(), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(both, {scores, seen}, [s = s, scores, seen](const Frame& frame) {
        softmax_rows(s, frame.floats(scores), frame.as<T>(seen));
      });
    });
    add_matmul(b, both, seen, parts.v, rows(b, y, first));
  }

  void add_backward(Builder& b, std::int64_t first, TensorId dy, TensorId d_looks,
                    TensorId gradients, TensorId dx) const {
    const Parts parts = Parts::of(b, x, s, first, false), d = Parts::of(b, dx, s, first, false);
    const TensorId d_rows = rows(b, dy, first), seen = looks_from(b, first, Tag::abcd);
    const auto back = Builder::Pass::backward;
    add_matmul(b, back, d_rows, Parts::of(b, x, s, first, true).v, d_looks);
    add_matmul(b, back, looks_from(b, first, Tag::abdc), d_rows, d.v);
    with_type(b.type(), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(
          back, {seen, d_looks, gradients}, [s = s, seen, d_looks, gradients](const Frame& frame) {
            softmax_backward(s, frame.as<T>(seen), frame.floats(d_looks), frame.as<T>(gradients));
          });
    });
    add_matmul(b, back, gradients, parts.k, d.q);
    add_matmul(b, back, b.view(gradients, square(s, b.type(), Tag::abdc), nullptr), parts.q, d.k);
  }
};

}  // namespace

TensorId attention(Builder& b, const Node& node, TensorId given) {
  const LayerPlan& layer = *node.layer;
  const auto& [heads, causal] = layer.options_as<AttentionOptions>();
  const AttentionSizes all{b.samples(), heads, layer.in[0], layer.out[1] / heads, causal};
  AttentionSizes s = all;
  s.samples = samples_at_once(all);
  const Desc in = plain_desc({all.samples, s.positions, layer.in[1]}, b.type());
  const Desc out = plain_desc({all.samples, s.positions, layer.out[1]}, b.type());
  const Attention a{s, b.in_layout(Builder::Pass::both, given, in),
                    b.activation(square(all, b.type()))};
  const TensorId y = b.activation(out), scores = b.activation(square(s, f32));
  for (std::int64_t first = 0; first < all.samples; first += s.samples)
    a.add_forward(b, first, scores, y);

  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, out);
    const TensorId dx = b.activation(in);
    const TensorId d_looks = b.activation(square(s, f32)),
                   gradients = b.activation(square(s, b.type()));
    for (std::int64_t first = 0; first < all.samples; first += s.samples)
      a.add_backward(b, first, dy, d_looks, gradients, dx);
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
