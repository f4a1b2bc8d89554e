// relu on its own: in place, where the input is not the caller's memory. Mostly it is joined to the
// layer before. oneDNN's relu, joined or not, and its max pool turn a NaN into a number; one that
// arises in the last layer or in the loss is seen, and backward carries it to every parameter.
#include "engine/layers/relu/cpu_backward.h"

namespace thalweg::engine::cpu {

TensorId add_relu_backward(Builder& b, TensorId y, TensorId dy) {
  dy = b.writable(b.in_layout(Builder::Pass::backward, dy, b.desc(y)));
  b.primitive(Builder::Pass::backward, backward(relu_function, b.desc(y)),
              {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dy}});
  return dy;
}

TensorId relu(Builder& b, const Node&, TensorId x) {
  const TensorId y = b.may_overwrite(x) ? x : b.like(x);
  b.primitive(Builder::Pass::both, forward(relu_function, b.desc(x)),
              {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  b.on_backward([=, &b](TensorId dy) { return add_relu_backward(b, y, dy); });
  return y;
}

}  // namespace thalweg::engine::cpu
