// Collects a plan: layers ask it for tensors and add operations. Used by one thread, under
// SingleThread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/compile_options.h"
#include "engine/device/cpu/onednn.h"
#include "engine/device/cpu/plan.h"
#include "engine/device/graph/node.h"

namespace thalweg::engine::cpu {

/// What kernels of this device join.
inline constexpr Joins joins{.relu = true, .pool_masks = true};

class Builder {
 public:
  /// When an operation runs; `weights`: before the others, where the parameters have changed.
  enum class Pass { both, training, evaluation, backward, weights };

  /// Takes the gradient of a layer's output, returns that of its input (anything where nobody wants
  /// it).
  using Backward = std::function<TensorId(TensorId dy)>;
  /// The same for a layer of several inputs: one gradient each.
  using BackwardToAll = std::function<std::vector<TensorId>(TensorId dy)>;

  Builder(const Graph& graph, int samples, Precision precision);

  int samples() const { return plan_.samples; }
  /// Of values between layers.
  Type type() const { return type_; }
  /// Of what the layer that is being added puts out: floats where the loss is taken over it.
  Type output_type() const;
  const Tensor& tensor(TensorId id) const { return plan_.tensors[static_cast<std::size_t>(id)]; }
  const Desc& desc(TensorId id) const { return tensor(id).desc; }

  /// Input k of the layer that is being added; its maker gets the first one as `x`. Floats, unless
  /// the layer's loops take any type (LayerKind::floats_on_cpu). Its backward function gets dy in
  /// the type that the layer has put out, and may return any.
  TensorId input(std::size_t k) const { return inputs_[k]; }
  std::size_t inputs() const { return inputs_.size(); }

  /// Arena memory; alive from its first operation to its last.
  TensorId activation(const Desc& desc);
  TensorId bytes(std::size_t count);
  /// As x in layout, type and order, with memory of its own.
  TensorId like(TensorId x);
  /// False where x lies in the caller's memory, other layers take it too, or it is kept.
  bool may_overwrite(TensorId x) const;
  /// The backward operations of the layer that put x out read it: no layer may overwrite it.
  void keep(TensorId x) { kept_.push_back(root(x)); }
  /// a += b, in backward.
  void add_in_place(TensorId a, TensorId b);
  /// A gradient that may be changed in place: dy itself, or a copy where it is that of other values
  /// too. For backward functions, of their argument.
  TensorId writable(TensorId dy);
  /// The memory of `base`, from its element number `first` on, seen with another layout.
  TensorId view(TensorId base, const Desc& desc, Order order, std::size_t first = 0);
  /// Parameter `number` of the graph and its gradient, in the layout `desc`. `plain` is the layout
  /// of the checkpoint.
  TensorId parameter(int number, const Desc& desc, const Desc& plain, Order order = nullptr);
  TensorId gradient(int number);
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
    Operation operation;
    operation.primitive = dnnl::primitive(pd.get());
    operation.arguments = std::move(arguments);
    add(pass, std::move(operation));
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

  /// Layers register these going forward; they run last to first.
  void on_backward(Backward backward);
  void on_backward_to_all(BackwardToAll backward);
  /// False while no layer before input k has parameters: nobody wants its gradient.
  bool wants_input_gradient(std::size_t k = 0) const;
  /// The operation just added completes the gradient of parameter `number`.
  void ready(int number);

  Plan finish();

 private:
  struct Value {
    TensorId tensor = -1;
    TensorId gradient = -1;  ///< the sum of the gradients that have come so far
    int uses = 0;
    bool wants_gradient = false;
  };
  Value& value(int number) { return values_[static_cast<std::size_t>(number)]; }
  const Value& value(int number) const { return values_[static_cast<std::size_t>(number)]; }
  TensorId root(TensorId id) const { return tensor(id).base >= 0 ? tensor(id).base : id; }
  bool has_parameters(const Node& node) const { return !node.layer->parameters.empty(); }
  void add_forward(const Node& node);
  void add_backward(const Node& node);
  void add_gradient(Value& to, TensorId dx);
  TensorId copy_of(TensorId dy);
  void place_parameters_and_arena();
  void add(Pass pass, Operation operation);
  void use(TensorId id, int clock);
  TensorId place(Home home, std::size_t offset, const Desc& desc);

  const Graph& graph_;
  const Type type_;
  std::vector<Node> nodes_;
  Plan plan_;
  std::vector<TensorId> parameter_tensors_, gradient_tensors_;
  std::vector<Value> values_;
  std::vector<BackwardToAll> backward_;  ///< by node; empty: the gradient passes as it is
  std::vector<TensorId> kept_;
  std::vector<TensorId> inputs_;                   ///< of the node that is being added
  std::vector<std::pair<int, TensorId>> weights_;  ///< parameter, a copy of it
  std::size_t current_ = 0;                        ///< the node that is being added
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
