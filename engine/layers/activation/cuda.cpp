// leaky_relu, tanh, sigmoid, gelu and silu: the passes of cuda_kernels.h as operations.
#include "engine/device/cuda/builder.h"
#include "engine/layers/activation/cuda_kernels.h"
#include "engine/layers/activation/options.h"

namespace thalweg::engine::cuda {
namespace {

TensorId each_element(Builder& b, TensorId x, const Activation& f) {
  const Type from = b.desc(x).type, to = b.output_type();
  const bool in_place = f.reads_output() && from == to && b.may_overwrite(x);
  const TensorId y = in_place ? x : b.activation(b.desc(x).dims, to);
  const std::int64_t count = b.desc(y).count();
  b.kernel(Builder::Pass::both, {x, y}, [=](const Frame& frame) {
    activation_forward(frame.stream, f, count, from, frame.as<void>(x), to, frame.as<void>(y));
  });
  if (f.reads_output()) b.keep(y);

  b.on_backward([=, &b](TensorId dy) {
    const TensorId saved = f.reads_output() ? y : x, dx = b.writable(dy);
    const Type of_saved = b.desc(saved).type, type = b.desc(dx).type;
    b.kernel(Builder::Pass::backward, {saved, dx}, [=](const Frame& frame) {
      activation_backward(frame.stream, f, count, of_saved, frame.as<void>(saved), type,
                          frame.as<void>(dx));
    });
    return dx;
  });
  return y;
}

}  // namespace

TensorId leaky_relu(Builder& b, const Node& node, TensorId x) {
  return each_element(
      b, x, {Activation::Kind::leaky_relu, node.layer->options_as<LeakyReluOptions>().slope});
}
TensorId tanh(Builder& b, const Node& node, TensorId x) {
  return each_element(b, x, {Activation::Kind::tanh, node.layer->options_as<TanhOptions>().scale});
}
TensorId sigmoid(Builder& b, const Node&, TensorId x) {
  return each_element(b, x, {Activation::Kind::sigmoid});
}
TensorId gelu(Builder& b, const Node&, TensorId x) {
  return each_element(b, x, {Activation::Kind::gelu});
}
TensorId silu(Builder& b, const Node&, TensorId x) {
  return each_element(b, x, {Activation::Kind::silu});
}

}  // namespace thalweg::engine::cuda
