// layer_norm over the features of every position, images in the order in which they are written.
#include "engine/device/cuda/builder.h"
#include "engine/layers/layer_norm/cuda_kernels.h"
#include "engine/layers/layer_norm/options.h"

namespace thalweg::engine::cuda {

TensorId layer_norm(Builder& b, const Node& node, TensorId given) {
  const Desc desc = b.desc(given);
  const std::int64_t features = node.layer->in.back(), rows = desc.count() / features;
  const auto epsilon = static_cast<float>(node.layer->options_as<LayerNormOptions>().epsilon);
  const Type type = desc.type;
  const int first = node.first_parameter;
  const TensorId weight = b.parameter(first), bias = b.parameter(first + 1);
  const TensorId x = b.in_plain_order(Builder::Pass::both, given);
  const TensorId y = b.activation(desc.images() ? b.desc(x).dims : desc.dims, type);
  const TensorId moments = b.scratch(rows, sizeof(RowMoments));
  const RowShape shape{rows, features};
  b.kernel(Builder::Pass::both, {x, weight, bias, y, moments}, [=](const Frame& frame) {
    layer_norm_forward(frame.stream, type, shape, epsilon, frame.as<void>(x), frame.floats(weight),
                       frame.floats(bias), frame.as<void>(y), frame.as<RowMoments>(moments));
  });

  b.on_backward([=, &b](TensorId dy) {
    dy = b.in_plain_order(Builder::Pass::backward, dy);
    const bool input = b.wants_input_gradient();
    const TensorId dx = input ? b.writable(dy) : dy;
    const TensorId before = input && !desc.images() ? b.take_gradient(b.desc(dx)) : -1;
    const TensorId parts = b.scratch(layer_norm_parts(shape), sizeof(float));
    const TensorId d_weight = b.gradient(first), d_bias = b.gradient(first + 1);
    b.kernel(Builder::Pass::backward, {x, dx, before, weight, moments, parts, d_weight, d_bias},
             [=](const Frame& frame) {
               layer_norm_backward(frame.stream, type, shape,
                                   {frame.as<void>(x), frame.as<void>(dx), frame.as<void>(before),
                                    frame.floats(weight), frame.as<RowMoments>(moments), input},
                                   frame.floats(parts), frame.floats(d_weight),
                                   frame.floats(d_bias));
             });
    b.ready(first);
    b.ready(first + 1);
    return desc.images() && input ? b.in_channels_last(Builder::Pass::backward, dx, desc.dims) : dx;
  });
  return desc.images() ? b.in_channels_last(Builder::Pass::both, y, desc.dims) : y;
}

}  // namespace thalweg::engine::cuda
