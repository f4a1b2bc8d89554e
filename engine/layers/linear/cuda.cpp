// linear: one product; bias, the sum with another branch and a following relu joined. Images that
// were flattened are taken as they lie: the weights' inputs are in that order instead. Positions of
// a sequence are rows like samples.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/reductions.h"

namespace thalweg::engine::cuda {
namespace {

/// Of images as they lie, channels last; else the plain order.
std::vector<std::int32_t> order_of_weights(const Node& node, std::int64_t outputs,
                                           std::int64_t inputs) {
  if (node.images.empty()) return {};
  return channels_last_order(outputs, node.images[0], inputs / node.images[0]);
}

}  // namespace

TensorId linear(Builder& b, const Node& node, TensorId x) {
  const LayerPlan& layer = *node.layer;
  const std::int64_t outputs = layer.out.back(), inputs = layer.in.back();
  const std::int64_t rows = b.desc(x).count() / inputs;
  const bool bias = layer.parameters.size() > 1, relu = node.relu;
  const int weight = node.first_parameter;
  const Type type = b.type(), result = b.output_type();
  b.parameter(weight, order_of_weights(node, outputs, inputs));
  if (bias) b.parameter(weight + 1);
  const TensorId row = bias ? b.weights(weight + 1, result) : -1;

  gpu::Product product;
  product.a = product.b = type;
  product.products = b.products();

  gpu::Product forward = product;
  forward.m = rows, forward.n = outputs, forward.k = inputs;
  forward.transpose_b = true;  // weights are (outputs, inputs)
  forward.c = result;
  forward.bias = bias;
  forward.relu = relu;
  forward.accumulate = node.adds;
  Shape out = b.desc(x).dims;
  out.back() = outputs;
  const TensorId y = b.activation(out, result);
  const TensorId from = b.in_type(Builder::Pass::both, x, type);
  const TensorId added = node.adds ? b.in_type(Builder::Pass::both, b.input(1), result) : -1;
  b.call(Builder::Pass::both, b.library().product(forward),
         {from, b.weights(weight), y, row, added});
  if (relu) b.keep(y);

  b.on_backward_to_all([=, &b, adds = node.adds](TensorId dy) {
    if (relu) dy = relu_gradient(b, y, dy);
    dy = b.in_type(Builder::Pass::backward, dy, type);
    gpu::Product weights = product;
    weights.m = outputs, weights.n = inputs, weights.k = rows;
    weights.transpose_a = true;
    if (bias) {
      multiply_and_sum(b, weights, dy, from, b.gradient(weight), b.gradient(weight + 1));
    } else {
      b.call(Builder::Pass::backward, b.library().product(weights), {dy, from, b.gradient(weight)});
    }
    b.ready(weight);
    if (bias) b.ready(weight + 1);
    std::vector<TensorId> gradients{dy};
    if (adds) gradients.push_back(dy);
    if (!b.wants_input_gradient()) return gradients;
    gpu::Product data = product;
    data.m = rows, data.n = inputs, data.k = outputs;
    data.c = type;
    const TensorId before = b.take_gradient({b.desc(x).dims, type});
    data.accumulate = before >= 0;
    gradients[0] = b.activation(b.desc(x).dims, type);
    b.call(Builder::Pass::backward, b.library().product(data),
           {dy, b.weights(weight), gradients[0], -1, before});
    return gradients;
  });
  return y;
}

}  // namespace thalweg::engine::cuda
