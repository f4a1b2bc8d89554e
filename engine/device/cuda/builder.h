// Collects a plan: layers ask it for tensors and add operations. Used by one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/compile_options.h"
#include "engine/device/cuda/plan.h"
#include "engine/device/graph/builder.h"

namespace thalweg::engine::cuda {

/// What kernels of this device join.
inline constexpr Joins joins{.relu = true, .sums = true, .stacks = true, .pool_first = true};

class Builder final : public GraphBuilder<Plan> {
 public:
  Builder(gpu::Stream& stream, const Graph& graph, int samples, const CompileOptions& options);

  /// Of values between layers.
  Type type() const { return type_; }
  /// Of what the layer that is being added puts out: logits_type() where the loss is taken over it.
  Type output_type() const;
  /// Of what the loss is taken over: type() for the cross-entropy of many classes, else floats.
  Type logits_type() const;
  /// What 32-bit floats are multiplied in.
  gpu::Products products() const { return products_; }
  const gpu::Library& library() const { return stream_.library(); }
  // Layers get inputs of any type. Backward functions get dy with the desc of what the layer has
  // put out, and may return a gradient of any type.

  using GraphBuilder::activation;
  TensorId activation(Shape dims, Type type) { return activation(Desc{std::move(dims), type}); }
  /// `count` numbers of `bytes` bytes each: masks, indices, partial sums.
  TensorId scratch(std::int64_t count, std::size_t bytes);
  TensorId like(TensorId x) { return activation(desc(x)); }
  void add_in_place(TensorId a, TensorId b) override;
  /// The memory of `base` from its element number `first` on, seen with another shape or layout.
  TensorId view(TensorId base, const Desc& desc, std::size_t first = 0);

  /// Parameter `number` of the graph, floats; `order` says how it lies (Parameter::order).
  TensorId parameter(int number, std::vector<std::int32_t> order = {});
  /// The parameter in type(), or in the one given: itself, or its copy in bfloat16.
  TensorId weights(int number) { return weights(number, type_); }
  TensorId weights(int number, Type type);
  TensorId statistic(std::size_t offset, std::int64_t count);
  TensorId running(std::size_t offset, std::int64_t count);
  /// Numbers that never change, in the GPU's memory.
  TensorId constant(const std::vector<float>& numbers);

  /// Adds work that touches `tensors`.
  void kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel);
  /// Adds a library's call, whose algorithm is chosen here, as its workspace is. -1 among
  /// `tensors`: null. A call may be added several times, one after another, of other tensors of its
  /// shape.
  void call(Pass pass, const std::shared_ptr<gpu::Call>& call,
            const std::vector<TensorId>& tensors);
  /// x itself where it is of this type, else a copy.
  TensorId in_type(Pass pass, TensorId x, Type type);
  /// x with its elements as they are written: images and volumes become (samples, c, h, w) with the
  /// channels outermost, seen as (samples, features).
  TensorId in_plain_order(Pass pass, TensorId x);
  /// The other way: (samples, features) becomes images of `dims`.
  TensorId in_channels_last(Pass pass, TensorId x, const Shape& dims, Type type);
  TensorId in_channels_last(Pass pass, TensorId x, const Shape& dims) {
    return in_channels_last(pass, x, dims, desc(x).type);
  }

  // For losses.
  const LossPlan& loss() const { return graph_.loss; }
  TensorId labels() const { return labels_; }
  TensorId targets() const { return targets_; }
  TensorId labels_b() const { return labels_b_; }
  TensorId shares_b() const { return shares_b_; }
  /// 1 + max_sums doubles: the loss's sum, then the metrics'.
  TensorId result() const { return result_; }
  /// Memory for the gradient of a loss, like the output: that itself where nobody kept it.
  TensorId loss_gradient(TensorId output);
  /// The same of type(), where the layer before the loss would round it so itself.
  TensorId narrow_loss_gradient(TensorId output);
  /// After a training loss's work: `to` (images) from `from`, its elements as they are written.
  void loss_in_channels_last(TensorId from, TensorId to);
  /// Adds a loss's work, for one of the two passes.
  void loss_kernel(const std::vector<TensorId>& tensors, bool training, Kernel kernel);

  Plan finish();

 private:
  TensorId add_input() override;
  TensorId add_layer(const Node& node, TensorId x) override;
  TensorId add_loss(TensorId output) override;
  TensorId as_input(const Node&, TensorId x) override { return x; }
  TensorId as_gradient(const Node& node, TensorId dy, TensorId y) override;
  TensorId in_shape_of(TensorId dx, TensorId y) override;
  TensorId copy_of(TensorId dy) override;
  std::size_t bytes_of(const Tensor& tensor) const override;
  std::size_t floats_of(const Parameter& parameter) const override;
  void place_workspaces();

  gpu::Stream& stream_;
  const Type type_;
  const gpu::Products products_;
  const KernelOptions kernels_;
  std::vector<TensorId> weight_tensors_;
  std::vector<std::pair<TensorId, std::size_t>> workspaces_;  ///< tensor, number of its call
  TensorId labels_ = -1, targets_ = -1, labels_b_ = -1, shares_b_ = -1, result_ = -1;
};

}  // namespace thalweg::engine::cuda
