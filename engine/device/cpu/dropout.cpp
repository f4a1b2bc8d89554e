// dropout in place: a mask of one byte an element, drawn in the plain order whatever the layout,
// kept for backward.
#include "engine/device/dropout_mask.h"

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/layer.h"
#include "engine/device/cpu/order.h"

namespace thalweg::engine::cpu {
namespace {

/// mask[n * width + i] = 1 where the element that lies at i is kept. `drawn` has room for one
/// sample.
void draw(const Batch& batch, int layer, std::int64_t features, const DropoutMask& keep,
          const Order& order, std::uint8_t* drawn, std::uint8_t* mask) {
  const std::int64_t width = order == nullptr ? features : static_cast<std::int64_t>(order->size());
  for (int n = 0; n < batch.samples; ++n, mask += width) {
    std::uint8_t* to = order == nullptr ? mask : drawn;
    for (std::int64_t i = 0; i < features; i += 4) {
      const auto bits = DropoutMask::bits(batch, layer, n, features, i / 4);
      for (std::int64_t k = i; k < features && k < i + 4; ++k)
        to[k] = keep.keeps(bits[k - i]);
    }
    if (order == nullptr) continue;
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int32_t plain = (*order)[static_cast<std::size_t>(i)];
      mask[i] = plain >= 0 ? drawn[plain] : 0;
    }
  }
}

void apply(const std::uint8_t* mask, float scale, std::int64_t count, const float* from,
           float* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = mask[i] != 0 ? from[i] * scale : 0.0f;
}

}  // namespace

TensorId dropout(Builder& b, const Node& node, TensorId x) {
  const double probability = node.layer->real("probability");
  const float scale = 1.0f / (1.0f - static_cast<float>(probability));
  const std::int64_t features = elements(node.layer->in);
  const int number = node.layer->number;
  if (b.desc(x).dims().size() > 2 && !sample_is_outermost(b.desc(x)))
    x = b.in_layout(Builder::Pass::both, x, Desc(b.desc(x).dims(), f32, Tag::abcd));
  const Order order = b.desc(x).dims().size() > 2 ? order_of(b.desc(x)) : b.tensor(x).order;
  const auto count = static_cast<std::int64_t>(b.desc(x).get_size() / sizeof(float));
  const TensorId mask = b.bytes(static_cast<std::size_t>(count));
  const TensorId drawn = b.bytes(static_cast<std::size_t>(features));
  // In place also where a relu's backward looks at x later: what is dropped has no slope anyway.
  const TensorId y = b.may_overwrite(x) ? x : b.like(x);
  b.kernel(Builder::Pass::training, {x, y, mask, drawn}, [=](const Frame& frame) {
    draw(*frame.batch, number, features, DropoutMask(probability), order, frame.bytes(drawn),
         frame.bytes(mask));
    apply(frame.bytes(mask), scale, count, frame.floats(x), frame.floats(y));
  });
  if (x != y)
    b.kernel(Builder::Pass::evaluation, {x, y},
             [=](const Frame& frame) { std::copy_n(frame.floats(x), count, frame.floats(y)); });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, b.desc(y));
    b.kernel(Builder::Pass::backward, {dy, mask}, [=](const Frame& frame) {
      apply(frame.bytes(mask), scale, count, frame.floats(dy), frame.floats(dy));
    });
    return dy;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
