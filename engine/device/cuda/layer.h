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

void cross_entropy(Builder& builder, TensorId output, TensorId gradient);
void mse(Builder& builder, TensorId output, TensorId gradient);
void l1(Builder& builder, TensorId output, TensorId gradient);
void bce(Builder& builder, TensorId output, TensorId gradient);
void dice(Builder& builder, TensorId output, TensorId gradient);
void quadratic_deep(Builder& builder, TensorId output, TensorId gradient);

}  // namespace thalweg::engine::cuda
