// The cpu device's layers, one .cpp each; names as in device/reference.
#pragma once

#include "engine/device/layer.h"

namespace thalweg::engine::cpu {

TensorId linear(Builder& builder, const Node& node, TensorId x);
TensorId conv2d(Builder& builder, const Node& node, TensorId x);
TensorId max_pool2d(Builder& builder, const Node& node, TensorId x);
TensorId avg_pool2d(Builder& builder, const Node& node, TensorId x);
TensorId relu(Builder& builder, const Node& node, TensorId x);
TensorId batch_norm(Builder& builder, const Node& node, TensorId x);
TensorId dropout(Builder& builder, const Node& node, TensorId x);
TensorId flatten(Builder& builder, const Node& node, TensorId x);
TensorId add(Builder& builder, const Node& node, TensorId x);

ShardResult softmax_cross_entropy(const float* logits, const std::int32_t* labels, int samples,
                                  int classes, float scale, float* gradient);

}  // namespace thalweg::engine::cpu
