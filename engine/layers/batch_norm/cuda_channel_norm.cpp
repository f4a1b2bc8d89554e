// The operations of batch_norm and group_norm: what each touches, and its kernel's call.
#include "engine/layers/batch_norm/cuda_channel_norm.h"

namespace thalweg::engine::cuda {
namespace {

NormVectors vectors_of(const Frame& frame, const ChannelNorm& norm) {
  return {frame.floats(norm.weight), frame.floats(norm.bias), frame.floats(norm.mean),
          frame.floats(norm.variance)};
}

}  // namespace

ChannelNorm channel_norm(Builder& b, const Node& node, const Columns& shape, std::int64_t group,
                         double epsilon, TensorId x) {
  ChannelNorm norm;
  norm.shape.tensor = shape;
  norm.shape.group = group;
  norm.shape.epsilon = static_cast<float>(epsilon);
  norm.shape.relu = node.relu;
  norm.parameter = node.first_parameter;
  norm.x = x;
  norm.weight = b.parameter(norm.parameter);
  norm.bias = b.parameter(norm.parameter + 1);
  norm.coefficients = b.scratch(norm_coefficients(norm.shape), sizeof(float));
  return norm;
}

void measure(Builder& b, Builder::Pass pass, const ChannelNorm& norm) {
  const Type type = b.desc(norm.x).type;
  const TensorId parts = b.scratch(norm_parts(norm.shape), sizeof(float));
  b.kernel(pass,
           {norm.x, norm.weight, norm.bias, parts, norm.mean, norm.variance, norm.coefficients},
           [=](const Frame& frame) {
             channel_moments(frame.stream, type, norm.shape, frame.as<void>(norm.x),
                             vectors_of(frame, norm), frame.floats(parts),
                             frame.floats(norm.coefficients));
           });
}

void take_moments(Builder& b, Builder::Pass pass, const ChannelNorm& norm) {
  b.kernel(pass, {norm.weight, norm.bias, norm.mean, norm.variance, norm.coefficients},
           [=](const Frame& frame) {
             channel_coefficients(frame.stream, norm.shape, vectors_of(frame, norm),
                                  frame.floats(norm.coefficients));
           });
}

void normalize(Builder& b, Builder::Pass pass, const ChannelNorm& norm, TensorId y) {
  const Type type = b.desc(norm.x).type;
  b.kernel(pass, {norm.x, norm.added, norm.coefficients, y}, [=](const Frame& frame) {
    channel_normalize(frame.stream, type, norm.shape, frame.as<void>(norm.x),
                      frame.as<void>(norm.added), frame.floats(norm.coefficients),
                      frame.as<void>(y));
  });
}

TensorId normalize_backward(Builder& b, const ChannelNorm& norm, TensorId dy) {
  const Type type = b.desc(dy).type;
  const TensorId d_weight = b.gradient(norm.parameter), d_bias = b.gradient(norm.parameter + 1);
  const TensorId parts = b.scratch(norm_parts(norm.shape), sizeof(float));
  const TensorId inputs = b.scratch(2 * norm.shape.columns(), sizeof(float));
  b.kernel(Builder::Pass::backward,
           {norm.x, dy, norm.y, norm.other, norm.variance, norm.weight, norm.coefficients, parts,
            inputs, d_weight, d_bias},
           [=](const Frame& frame) {
             const NormGradients tensors{frame.as<void>(norm.x), frame.as<void>(norm.y),
                                         frame.as<void>(norm.other), frame.as<void>(dy)};
             channel_gradients(frame.stream, type, norm.shape, tensors, vectors_of(frame, norm),
                               frame.floats(norm.coefficients), frame.floats(parts),
                               frame.floats(inputs), frame.floats(d_weight), frame.floats(d_bias));
           });
  TensorId dx = dy;
  if (b.wants_input_gradient()) {
    dx = b.like(norm.x);
    b.kernel(Builder::Pass::backward, {norm.x, dy, norm.coefficients, inputs, dx},
             [=](const Frame& frame) {
               channel_input_gradient(frame.stream, type, norm.shape, frame.as<void>(norm.x),
                                      frame.as<void>(dy), frame.floats(norm.coefficients),
                                      frame.floats(inputs), frame.as<void>(dx));
             });
  }
  b.ready(norm.parameter);
  b.ready(norm.parameter + 1);
  return dx;
}

}  // namespace thalweg::engine::cuda
