// flatten costs nothing: the images stay as they lie, seen as features in that order.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/order.h"

namespace thalweg::engine::cpu {

TensorId flatten(Builder& b, const Node&, TensorId x) {
  if (dims_of(b.desc(x)).size() == 2) return x;
  const bool wants_dx = b.wants_input_gradient();
  const Type type = type_of(b.desc(x));
  if (!sample_is_outermost(b.desc(x)))
    x = b.in_layout(Builder::Pass::both, x, plain_desc(dims_of(b.desc(x)), type));
  const Desc images = b.desc(x);
  const auto width = static_cast<std::int64_t>(count_of(images)) / dims_of(images)[0];
  const Desc features({dims_of(images)[0], width}, type, Tag::ab);
  if (wants_dx)
    b.on_backward([=, &b](TensorId dy) {
      return b.view(b.in_layout(Builder::Pass::backward, dy, features), images, nullptr);
    });
  return b.view(x, features, order_of(images));
}

}  // namespace thalweg::engine::cpu
