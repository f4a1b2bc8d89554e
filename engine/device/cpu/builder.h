// Collects a plan of oneDNN's primitives and own kernels: layers ask it for tensors and add
// operations. Used by one thread, under SingleThread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/compile_options.h"
#include "engine/device/cpu/onednn.h"
#include "engine/device/cpu/plan.h"
#include "engine/device/graph/builder.h"

namespace thalweg::engine::cpu {

/// What kernels of this device join.
inline constexpr Joins joins{.relu = true, .pool_masks = true};

class Builder final : public GraphBuilder<Plan> {
 public:
  Builder(const Graph& graph, int samples, Precision precision);

  /// Of values between layers.
  Type type() const { return type_; }
  /// Of what the layer that is being added puts out: floats where the loss is taken over it.
  Type output_type() const;
  // Of inputs, layers get floats where their loops take nothing else (LayerKind::floats_on_cpu).
  // Backward functions get dy in the type that the layer has put out, and may return any.

  TensorId bytes(std::size_t count);
  /// As x in layout, type and order, with memory of its own.
  TensorId like(TensorId x);
  void add_in_place(TensorId a, TensorId b) override;
  /// The memory of `base`, from its element number `first` on, seen with another layout.
  TensorId view(TensorId base, const Desc& desc, Order order, std::size_t first = 0);
  /// Parameter `number` of the graph and its gradient, in the layout `desc`. `plain` is the layout
  /// of the checkpoint.
  TensorId parameter(int number, const Desc& desc, const Desc& plain, Order order = nullptr);
  /// Parameter `number` in the layout and type `wanted`: itself, or a copy that is made once where
  /// the parameters have changed.
  TensorId weights(int number, const Desc& wanted);
  TensorId statistic(std::size_t offset, const Desc& desc);
  TensorId running(std::size_t offset, const Desc& desc);

  /// Adds a primitive; its scratch memory is added here.
  template <class PrimitiveDesc>
  void primitive(Pass pass, const PrimitiveDesc& pd, Arguments arguments) {
    if (pd.scratchpad_desc().get_size() > 0)
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD, activation(pd.scratchpad_desc()));
    std::vector<TensorId> tensors;
    for (const auto& [argument, id] : arguments)
      tensors.push_back(id);
    Operation operation;
    operation.primitive = dnnl::primitive(pd.get());
    operation.arguments = std::move(arguments);
    add(pass, std::move(operation), tensors);
  }
  /// Adds a kernel that touches `tensors`.
  void kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel);
  /// x itself where it has the layout and type `wanted`, else a copy that has them.
  TensorId in_layout(Pass pass, TensorId x, const Desc& wanted);
  /// x itself where it is of this type, else a copy: plain, features in x's order.
  TensorId in_type(Pass pass, TensorId x, Type type);
  /// Copies x into y's layout and type.
  void reorder(Pass pass, TensorId x, TensorId y);
  /// Flattened images in the order of the plain layout.
  TensorId in_plain_order(Pass pass, TensorId x);
  /// The gradient with respect to in_plain_order's input from the one of its output.
  TensorId out_of_plain_order(TensorId dy, TensorId x);

  Plan finish();

 private:
  TensorId add_input() override;
  TensorId add_layer(const Node& node, TensorId x) override;
  TensorId add_loss(TensorId output) override;
  TensorId as_input(const Node& node, TensorId x) override;
  TensorId as_gradient(const Node& node, TensorId dy, TensorId y) override;
  TensorId in_shape_of(TensorId dx, TensorId) override { return dx; }
  TensorId copy_of(TensorId dy) override;
  std::size_t bytes_of(const Tensor& tensor) const override { return tensor.desc.get_size(); }
  std::size_t floats_of(const Parameter& parameter) const override;

  const Type type_;
  std::vector<std::pair<int, TensorId>> weights_;  ///< parameter, a copy of it
};

/// The primitive made for the layout `any` and, where that asks for another layout of `weights`
/// than the forward one's, a second try with the forward one's: taken if the implementation is as
/// good (has the same name).
template <class Make, class LayoutOf>
auto prefer_layout(Make make, const Desc& any, const Desc& preferred, LayoutOf layout_of) {
  auto free_choice = make(any);
  if (layout_of(free_choice) == preferred) return free_choice;
  try {
    auto fixed = make(preferred);
    if (std::string(fixed.impl_info_str()) == free_choice.impl_info_str()) return fixed;
  } catch (const dnnl::error&) {
    // No implementation for that layout: the free choice and a planned reorder it is.
  }
  return free_choice;
}

/// result = left right, of the matrices in their last two dimensions.
void add_matmul(Builder& b, Builder::Pass pass, TensorId left, TensorId right, TensorId result);

/// The gradients of the parameters `weight` and `bias` (none: -1). `arguments` are the sources.
template <class PrimitiveDesc>
void add_backward_weights(Builder& b, const PrimitiveDesc& pd, Arguments arguments, int weight,
                          int bias) {
  const TensorId gradient = b.gradient(weight);
  const bool direct = pd.diff_weights_desc() == b.desc(gradient);
  const TensorId target = direct ? gradient : b.activation(pd.diff_weights_desc());
  arguments.emplace_back(DNNL_ARG_DIFF_WEIGHTS, target);
  if (bias >= 0) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, b.gradient(bias));
  b.primitive(Builder::Pass::backward, pd, std::move(arguments));
  if (!direct) b.reorder(Builder::Pass::backward, target, gradient);
  b.ready(weight);
  if (bias >= 0) b.ready(bias);
}

}  // namespace thalweg::engine::cpu
