// flatten costs nothing: the images stay as they lie, seen as features in that order.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/layer.h"
#include "engine/device/cpu/order.h"

namespace thalweg::engine::cpu {

TensorId flatten(Builder& b, const Node&, TensorId x) {
  if (dims_of(b.desc(x)).size() == 2) return x;
  const bool wants_dx = b.wants_input_gradient();
  if (!sample_is_outermost(b.desc(x)))
    x = b.in_layout(Builder::Pass::both, x, plain_desc(dims_of(b.desc(x))));
  const Desc images = b.desc(x);
  const auto width =
      static_cast<std::int64_t>(images.get_size() / sizeof(float)) / dims_of(images)[0];
  const Desc features({dims_of(images)[0], width}, f32, Tag::ab);
  if (wants_dx)
    b.on_backward([=, &b](TensorId dy) {
      return b.view(b.in_layout(Builder::Pass::backward, dy, features), images, nullptr);
    });
  return b.view(x, features, order_of(images));
}

}  // namespace thalweg::engine::cpu
