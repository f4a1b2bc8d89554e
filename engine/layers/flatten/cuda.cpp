// flatten: a view where the linear layer that follows takes the images' order, else a
// transposition.
#include "engine/device/cuda/builder.h"

namespace thalweg::engine::cuda {

TensorId flatten(Builder& b, const Node& node, TensorId x) {
  const Desc given = b.desc(x);
  const Desc flat{{given.dims[0], given.count() / given.dims[0]}, given.type};
  if (node.keeps_order || !given.images()) {
    b.on_backward([=, &b](TensorId dy) { return b.view(dy, {given.dims, b.desc(dy).type}); });
    return b.view(x, flat);
  }
  b.on_backward(
      [=, &b](TensorId dy) { return b.in_channels_last(Builder::Pass::backward, dy, given.dims); });
  return b.in_plain_order(Builder::Pass::both, x);
}

}  // namespace thalweg::engine::cuda
