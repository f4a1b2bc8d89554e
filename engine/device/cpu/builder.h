// Collects a plan: layers ask it for tensors and add operations. Used by one thread, under
// SingleThread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/device/cpu/node.h"
#include "engine/device/cpu/onednn.h"
#include "engine/device/cpu/plan.h"

namespace thalweg::engine::cpu {

class Builder {
 public:
  /// When an operation runs.
  enum class Pass { both, training, evaluation, backward };

  /// Takes the gradient of a layer's output, returns that of its input (anything where nobody wants
  /// it).
  using Backward = std::function<TensorId(TensorId dy)>;

  explicit Builder(const Graph& graph, int samples);

  int samples() const { return plan_.samples; }
  const Tensor& tensor(TensorId id) const { return plan_.tensors[static_cast<std::size_t>(id)]; }
  const Desc& desc(TensorId id) const { return tensor(id).desc; }

  /// Arena memory; alive from its first operation to its last.
  TensorId activation(const Desc& desc);
  TensorId bytes(std::size_t count);
  /// As x in layout and order, with memory of its own.
  TensorId like(TensorId x);
  /// False where x lies in the caller's memory.
  bool may_overwrite(TensorId x) const { return tensor(x).home == Home::arena; }
  /// The memory of `base` seen with another layout.
  TensorId view(TensorId base, const Desc& desc, Order order);
  /// Parameter `number` of the graph and its gradient, in the layout `desc`. `plain` is the layout
  /// of the checkpoint.
  TensorId parameter(int number, const Desc& desc, const Desc& plain, Order order = nullptr);
  TensorId gradient(int number);
  TensorId statistic(std::size_t offset, const Desc& desc);
  TensorId running(std::size_t offset, const Desc& desc);

  /// Adds a primitive; its scratch memory is added here.
  template <class PrimitiveDesc>
  void primitive(Pass pass, const PrimitiveDesc& pd, Arguments arguments) {
    if (pd.scratchpad_desc().get_size() > 0)
      arguments.emplace_back(DNNL_ARG_SCRATCHPAD, activation(pd.scratchpad_desc()));
    add(pass, {dnnl::primitive(pd.get()), std::move(arguments), {}, {}});
  }
  /// Adds a kernel that touches `tensors`.
  void kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel);
  /// x itself where it has the layout `wanted`, else a copy that has it.
  TensorId in_layout(Pass pass, TensorId x, const Desc& wanted);
  /// Copies x into y's layout.
  void reorder(Pass pass, TensorId x, TensorId y);
  /// Flattened images in the order of the plain layout.
  TensorId in_plain_order(Pass pass, TensorId x);
  /// The gradient with respect to in_plain_order's input from the one of its output.
  TensorId out_of_plain_order(TensorId dy, TensorId x);

  /// Layers register these going forward; they run last to first.
  void on_backward(Backward backward);
  /// False while no layer before has parameters: nobody wants the gradient of this layer's input.
  bool wants_input_gradient() const { return wants_gradient_; }
  /// The operation just added completes the gradient of parameter `number`.
  void ready(int number);

  Plan finish();

 private:
  void add(Pass pass, Operation operation);
  void use(TensorId id, int clock);
  TensorId place(Home home, std::size_t offset, const Desc& desc);

  const Graph& graph_;
  std::vector<Node> nodes_;
  Plan plan_;
  std::vector<TensorId> parameter_tensors_, gradient_tensors_;
  std::vector<Backward> backward_;
  bool wants_gradient_ = false;
  int clock_ = 0;
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

/// The gradients of a layer's weight (parameter `weight`) and bias (the next one). `arguments` are
/// the sources.
template <class PrimitiveDesc>
void add_backward_weights(Builder& b, const PrimitiveDesc& pd, Arguments arguments, int weight,
                          bool bias) {
  const TensorId gradient = b.gradient(weight);
  const bool direct = pd.diff_weights_desc() == b.desc(gradient);
  const TensorId target = direct ? gradient : b.activation(pd.diff_weights_desc());
  arguments.emplace_back(DNNL_ARG_DIFF_WEIGHTS, target);
  if (bias) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, b.gradient(weight + 1));
  b.primitive(Builder::Pass::backward, pd, std::move(arguments));
  if (!direct) b.reorder(Builder::Pass::backward, target, gradient);
  b.ready(weight);
  if (bias) b.ready(weight + 1);
}

}  // namespace thalweg::engine::cpu
