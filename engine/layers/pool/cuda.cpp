// max_pool and avg_pool of images (2d) and volumes (3d): the passes of cuda_kernels.h as
// operations.
#include "engine/device/cuda/builder.h"
#include "engine/layers/pool/cuda_kernels.h"

namespace thalweg::engine::cuda {
namespace {

PoolShape shape_of(const Builder& b, const Node& node) {
  return {node.layer->options_as<Window>(), b.samples()};
}

TensorId output_of(Builder& b, const Node& node) {
  Shape dims = node.layer->out;
  dims.insert(dims.begin(), b.samples());
  return b.activation(dims, b.type());
}

TensorId max_pool(Builder& b, const Node& node, TensorId input) {
  using Pass = Builder::Pass;
  const PoolShape shape = shape_of(b, node);
  const Type type = b.type();
  const TensorId x = b.in_type(Pass::both, input, type), y = output_of(b, node);
  const TensorId places = b.scratch(shape.outputs(), shape.bytes_of_place());
  for (const bool training : {true, false}) {
    const TensorId kept = training ? places : -1;
    b.kernel(training ? Pass::training : Pass::evaluation, {x, y, kept}, [=](const Frame& frame) {
      max_pool_forward(frame.stream, type, shape, frame.as<void>(x), frame.as<void>(y),
                       frame.as<void>(kept));
    });
  }
  b.on_backward([=, &b](TensorId given) {
    if (!b.wants_input_gradient()) return given;
    const TensorId dy = b.in_type(Pass::backward, given, type), dx = b.like(x);
    b.kernel(Pass::backward, {dy, places, dx}, [=](const Frame& frame) {
      max_pool_backward(frame.stream, type, shape, frame.as<void>(dy), frame.as<void>(places),
                        frame.as<void>(dx));
    });
    b.same_sums(dx, dy);  // each of dy goes to one place
    return dx;
  });
  return b.in_type(Pass::both, y, b.output_type());
}

TensorId avg_pool(Builder& b, const Node& node, TensorId input) {
  using Pass = Builder::Pass;
  const PoolShape shape = shape_of(b, node);
  const Type type = b.type();
  const TensorId x = b.in_type(Pass::both, input, type), y = output_of(b, node);
  b.kernel(Pass::both, {x, y}, [=](const Frame& frame) {
    avg_pool_forward(frame.stream, type, shape, frame.as<void>(x), frame.as<void>(y));
  });
  b.on_backward([=, &b](TensorId given) {
    if (!b.wants_input_gradient()) return given;
    const TensorId dy = b.in_type(Pass::backward, given, type), dx = b.like(x);
    b.kernel(Pass::backward, {dy, dx}, [=](const Frame& frame) {
      avg_pool_backward(frame.stream, type, shape, frame.as<void>(dy), frame.as<void>(dx));
    });
    return dx;
  });
  return b.in_type(Pass::both, y, b.output_type());
}

}  // namespace

TensorId max_pool2d(Builder& b, const Node& node, TensorId x) {
  return max_pool(b, node, x);
}
TensorId max_pool3d(Builder& b, const Node& node, TensorId x) {
  return max_pool(b, node, x);
}
TensorId avg_pool2d(Builder& b, const Node& node, TensorId x) {
  return avg_pool(b, node, x);
}
TensorId avg_pool3d(Builder& b, const Node& node, TensorId x) {
  return avg_pool(b, node, x);
}

}  // namespace thalweg::engine::cuda
