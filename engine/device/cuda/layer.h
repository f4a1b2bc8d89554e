// The cuda device's layers and losses, one .cpp each; names as in device/reference.
#pragma once

#include "engine/device/layer.h"

namespace thalweg::engine::cuda {

TensorId linear(Builder& builder, const Node& node, TensorId x);
TensorId conv2d(Builder& builder, const Node& node, TensorId x);
TensorId conv3d(Builder& builder, const Node& node, TensorId x);
TensorId conv_transpose2d(Builder& builder, const Node& node, TensorId x);
TensorId conv_transpose3d(Builder& builder, const Node& node, TensorId x);
TensorId max_pool2d(Builder& builder, const Node& node, TensorId x);
TensorId max_pool3d(Builder& builder, const Node& node, TensorId x);
TensorId avg_pool2d(Builder& builder, const Node& node, TensorId x);
TensorId avg_pool3d(Builder& builder, const Node& node, TensorId x);
TensorId relu(Builder& builder, const Node& node, TensorId x);
TensorId leaky_relu(Builder& builder, const Node& node, TensorId x);
TensorId tanh(Builder& builder, const Node& node, TensorId x);
TensorId sigmoid(Builder& builder, const Node& node, TensorId x);
TensorId gelu(Builder& builder, const Node& node, TensorId x);
TensorId silu(Builder& builder, const Node& node, TensorId x);
TensorId global_avg_pool(Builder& builder, const Node& node, TensorId x);
TensorId batch_norm(Builder& builder, const Node& node, TensorId x);
TensorId group_norm(Builder& builder, const Node& node, TensorId x);
TensorId dropout(Builder& builder, const Node& node, TensorId x);
TensorId flatten(Builder& builder, const Node& node, TensorId x);
TensorId embedding(Builder& builder, const Node& node, TensorId x);
TensorId positions(Builder& builder, const Node& node, TensorId x);
TensorId layer_norm(Builder& builder, const Node& node, TensorId x);
TensorId attention(Builder& builder, const Node& node, TensorId x);
TensorId cross_attention(Builder& builder, const Node& node, TensorId x);
TensorId slice(Builder& builder, const Node& node, TensorId x);
TensorId pad(Builder& builder, const Node& node, TensorId x);
TensorId add(Builder& builder, const Node& node, TensorId x);
TensorId concat(Builder& builder, const Node& node, TensorId x);
TensorId upsample(Builder& builder, const Node& node, TensorId x);
TensorId lstm(Builder& builder, const Node& node, TensorId x);
TensorId repeat(Builder& builder, const Node& node, TensorId x);

TensorId cross_entropy(Builder& builder, TensorId output);
TensorId mse(Builder& builder, TensorId output);
TensorId l1(Builder& builder, TensorId output);
TensorId bce(Builder& builder, TensorId output);
TensorId dice(Builder& builder, TensorId output);
TensorId quadratic_deep(Builder& builder, TensorId output);

}  // namespace thalweg::engine::cuda
