// What batch_norm does the same over one shard (batch_norm.cpp) and over all of them
// (batch_norm_shards.cpp).
#pragma once

#include "engine/device/cpu/builder.h"

namespace thalweg::engine::cpu {

/// A batch_norm layer on oneDNN's batch normalisation, a following relu joined.
class BatchNorm {
 public:
  using Flags = dnnl::normalization_flags;

  /// With weight and bias; mean and variance are measured, and written.
  static Flags measured() { return Flags::use_scale | Flags::use_shift; }
  /// Mean and variance are read.
  static Flags given() { return measured() | Flags::use_global_stats; }

  /// Adds what the layer reads and writes to the plan.
  BatchNorm(Builder& b, const Node& node, TensorId input);

  /// Adds y: in training by the shard's moments, `measured` or `given`, in evaluation by the
  /// running ones. Once.
  void normalize(Builder& b, Flags moments);
  /// Adds the gradients of that to backward: the gradients of weight and bias, and dx. Returns dx.
  TensorId add_gradients(Builder& b, TensorId dy) const;
  /// The gradients of weight and bias are complete.
  void ready(Builder& b) const;

  /// y and dx as the layers around know them.
  TensorId output(Builder& b) const { return b.view(y, outside_, nullptr); }
  TensorId input_gradient(Builder& b, TensorId dx) const;

  /// Of a forward primitive from x to `to`.
  Arguments arguments(TensorId to) const;

  std::int64_t channels;
  float epsilon;
  int weight;  ///< the bias is the next parameter
  bool wants_dx;
  Desc images;  ///< layout of x, y and dx
  Desc row;     ///< of a number for each channel
  TensorId x, scale, shift, mean, variance, y;

 private:
  bool relu_;
  TensorId input_;
  Desc outside_;
  TensorId running_mean_, running_variance_;
  // Set by normalize:
  Flags flags_ = Flags::none;
  dnnl::batch_normalization_forward::primitive_desc training_;
  TensorId mask_ = -1;  ///< of the relu
};

/// batch_norm with the option `sync`.
TensorId batch_norm_over_shards(Builder& b, const Node& node, TensorId input);

}  // namespace thalweg::engine::cpu
