// dropout in place: a mask of one byte an element, drawn in the plain order whatever the layout,
// kept for backward.
#include "engine/device/dropout_mask.h"
#include "engine/layers/dropout/options.h"

#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/order.h"
#include "engine/device/cpu/types.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

/// kept[i] = 1 where element i of sample n is kept.
void draw_sample(const Batch& batch, const DropoutMask& mask, int n, std::int64_t features,
                 std::uint8_t* kept) {
  const std::uint64_t first = mask.counter(batch, n);
  for (std::int64_t i = 0; i < features; i += 4) {
    const auto bits =
        philox(batch.seed, Stream::dropout, batch.step, first + static_cast<std::uint64_t>(i) / 4);
    for (std::int64_t k = i; k < std::min(i + 4, features); ++k)
      kept[k] = bits[static_cast<std::size_t>(k - i)] >= mask.threshold() ? 1 : 0;
  }
}

/// kept[n * width + i] = 1 where the element that lies at i of sample n is kept. `drawn` has room
/// for one sample.
void draw(const Batch& batch, const DropoutMask& mask, std::int64_t features, const Order& order,
          std::uint8_t* drawn, std::uint8_t* kept) {
  for (int n = 0; n < batch.samples; ++n) {
    if (order == nullptr) {
      draw_sample(batch, mask, n, features, kept + n * features);
      continue;
    }
    draw_sample(batch, mask, n, features, drawn);
    for (const std::int32_t plain : *order)
      *kept++ = plain >= 0 ? drawn[plain] : 0;
  }
}

/// to = from * scale where it is kept, else 0; may be in place.
template <class T>
THALWEG_INLINE void apply_to(const std::uint8_t* __restrict kept, float scale, std::int64_t count,
                             const T* from, T* to) {
#pragma GCC ivdep  // element i depends on element i only
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = store<T>(kept[i] != 0 ? load(from[i]) * scale : 0.0f);
}

THALWEG_SIMD void apply(const std::uint8_t* kept, float scale, std::int64_t count,
                        const float* from, float* to) {
  apply_to(kept, scale, count, from, to);
}
THALWEG_SIMD void apply(const std::uint8_t* kept, float scale, std::int64_t count, const Bf16* from,
                        Bf16* to) {
  apply_to(kept, scale, count, from, to);
}

}  // namespace

TensorId dropout(Builder& b, const Node& node, TensorId x) {
  const double probability = node.layer->options_as<DropoutOptions>().probability;
  const float scale = 1.0f / (1.0f - static_cast<float>(probability));
  const std::int64_t features = elements(node.layer->in);
  const DropoutMask keep(probability, node.layer->number, features);
  if (dims_of(b.desc(x)).size() > 2 && !sample_is_outermost(b.desc(x)))
    x = b.in_layout(Builder::Pass::both, x, plain_desc(dims_of(b.desc(x)), type_of(b.desc(x))));
  const Order order = dims_of(b.desc(x)).size() > 2 ? order_of(b.desc(x)) : b.tensor(x).order;
  const auto count = static_cast<std::int64_t>(count_of(b.desc(x)));
  const TensorId mask = b.bytes(static_cast<std::size_t>(count));
  const TensorId drawn = b.bytes(static_cast<std::size_t>(features));
  // In place also where a relu's backward looks at x later: what is dropped has no gradient anyway.
  const TensorId y = b.may_overwrite(x) ? x : b.like(x);
  with_type(type_of(b.desc(x)), [&](auto zero) {
    using T = decltype(zero);
    b.kernel(Builder::Pass::training, {x, y, mask, drawn}, [=](const Frame& frame) {
      draw(*frame.batch, keep, features, order, frame.bytes(drawn), frame.bytes(mask));
      apply(frame.bytes(mask), scale, count, frame.as<T>(x), frame.as<T>(y));
    });
    if (x != y)
      b.kernel(Builder::Pass::evaluation, {x, y},
               [=](const Frame& frame) { std::copy_n(frame.as<T>(x), count, frame.as<T>(y)); });
    b.on_backward([=, &b](TensorId dy) {
      dy = b.writable(b.in_layout(Builder::Pass::backward, dy, b.desc(y)));
      b.kernel(Builder::Pass::backward, {dy, mask}, [=](const Frame& frame) {
        apply(frame.bytes(mask), scale, count, frame.as<T>(dy), frame.as<T>(dy));
      });
      return dy;
    });
  });
  return y;
}

}  // namespace thalweg::engine::cpu
