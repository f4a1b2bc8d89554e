// Collects a plan: layers ask it for tensors and add operations. Used by one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/compile_options.h"
#include "engine/device/cuda/plan.h"
#include "engine/device/graph/node.h"

namespace thalweg::engine::cuda {

/// What kernels of this device join.
inline constexpr Joins joins{.relu = true, .sums = true, .stacks = true, .pool_first = true};

class Builder {
 public:
  /// When an operation runs.
  enum class Pass { both, training, evaluation, backward };

  /// Takes the gradient of a layer's output, returns that of its input (anything where nobody wants
  /// it).
  using Backward = std::function<TensorId(TensorId dy)>;
  /// The same for a layer of several inputs: one gradient each.
  using BackwardToAll = std::function<std::vector<TensorId>(TensorId dy)>;

  Builder(gpu::Queue& queue, const Graph& graph, int samples, const CompileOptions& options);

  int samples() const { return plan_.samples; }
  /// Of values between layers.
  Type type() const { return type_; }
  /// Of what the layer that is being added puts out: logits_type() where the loss is taken over it.
  Type output_type() const;
  /// Of what the loss is taken over: type() for the cross-entropy of many classes, else floats.
  Type logits_type() const;
  /// What 32-bit floats are multiplied in.
  gpu::Products products() const { return products_; }
  const gpu::Library& library() const { return queue_.library(); }
  const Tensor& tensor(TensorId id) const { return plan_.tensors[static_cast<std::size_t>(id)]; }
  const Desc& desc(TensorId id) const { return tensor(id).desc; }

  /// Input k of the layer that is being added, of any type; its maker gets the first one as `x`.
  /// Backward functions get dy with the desc of what the layer has put out, and may return a
  /// gradient of any type.
  TensorId input(std::size_t k) const { return inputs_[k]; }
  std::size_t inputs() const { return inputs_.size(); }

  /// Arena memory; alive from its first operation to its last.
  TensorId activation(const Desc& desc);
  TensorId activation(Shape dims, Type type) { return activation(Desc{std::move(dims), type}); }
  /// `count` numbers of `bytes` bytes each: masks, indices, partial sums.
  TensorId scratch(std::int64_t count, std::size_t bytes);
  TensorId like(TensorId x) { return activation(desc(x)); }
  /// False where x lies in the caller's memory, other layers take it too, or it is kept.
  bool may_overwrite(TensorId x) const;
  /// The backward operations of the layer that put x out read it: no layer may overwrite it.
  void keep(TensorId x) { kept_.push_back(root(x)); }
  /// A gradient that may be changed in place: dy itself, or a copy where it is that of other values
  /// too. For backward functions, of their argument.
  TensorId writable(TensorId dy);
  /// In backward: every channel of x has the sum that it has in `fewer`, which has fewer rows.
  void same_sums(TensorId x, TensorId fewer) { sums_[x] = fewer; }
  /// What to add up where the sums of x's channels are wanted: x itself or a smaller tensor.
  TensorId with_same_sums(TensorId x) const;
  /// The memory of `base` from its element number `first` on, seen with another shape or layout.
  TensorId view(TensorId base, const Desc& desc, std::size_t first = 0);

  /// Parameter `number` of the graph, floats; `order` says how it lies (Parameter::order).
  TensorId parameter(int number, std::vector<std::int32_t> order = {});
  TensorId gradient(int number);
  /// The parameter in type(), or in the one given: itself, or its copy in bfloat16.
  TensorId weights(int number) { return weights(number, type_); }
  TensorId weights(int number, Type type);
  TensorId statistic(std::size_t offset, std::int64_t count);
  TensorId running(std::size_t offset, std::int64_t count);
  /// Numbers that never change, in the GPU's memory.
  TensorId constant(const std::vector<float>& numbers);

  /// Adds work that touches `tensors`.
  void kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel);
  /// Adds a library's call, whose way is chosen here, as its workspace is. -1 among `tensors`:
  /// null. A call may be added several times, one after another, of other tensors of its shape.
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

  /// Layers register these going forward; they run last to first.
  void on_backward(Backward backward);
  void on_backward_to_all(BackwardToAll backward);
  /// False while no layer before input k has parameters: nobody wants its gradient.
  bool wants_input_gradient(std::size_t k = 0) const;
  /// In backward: the sum of the gradients that other layers have brought for input k so far, for
  /// this layer to add to its own and not to change; -1: none, or of another shape or type.
  TensorId take_gradient(const Desc& desc, std::size_t k = 0);
  /// In backward of a node that adds_before_relu(): what is still to be added to dy; -1: nothing.
  TensorId second_gradient() { return std::exchange(second_gradient_, -1); }
  /// The operation just added completes the gradient of parameter `number`.
  void ready(int number);

  // For losses.
  const LossPlan& loss() const { return graph_.loss; }
  TensorId labels() const { return labels_; }
  TensorId targets() const { return targets_; }
  TensorId partner_labels() const { return partner_labels_; }
  TensorId partner_shares() const { return partner_shares_; }
  /// 1 + most_sums doubles: the loss's sum, then the metrics'.
  TensorId result() const { return result_; }
  /// Memory for the gradient of a loss, like the output: that itself where nobody kept it.
  TensorId loss_gradient(TensorId output);
  /// The same of type(), where the layer before the loss would round it so itself.
  TensorId narrow_loss_gradient(TensorId output);
  bool same_memory(TensorId a, TensorId b) const { return root(a) == root(b); }
  /// After a training loss's work: `to` (images) from `from`, its elements as they are written.
  void loss_in_channels_last(TensorId from, TensorId to);
  /// Adds a loss's work, for one of the two passes.
  void loss_kernel(const std::vector<TensorId>& tensors, bool training, Kernel kernel);

  Plan finish();

 private:
  struct Value {
    TensorId tensor = -1;
    TensorId gradient = -1;  ///< the sum of the gradients that have come so far
    TensorId second = -1;    ///< one that its maker's backward adds to that in its own pass
    bool takes_two = false;
    int uses = 0;
    bool wants_gradient = false;
  };
  Value& value(int number) { return values_[static_cast<std::size_t>(number)]; }
  const Value& value(int number) const { return values_[static_cast<std::size_t>(number)]; }
  TensorId root(TensorId id) const { return tensor(id).base >= 0 ? tensor(id).base : id; }
  void add_input();
  void add_forward(const Node& node);
  void add_loss();
  void add_backward(const Node& node);
  void compute_again(int segment);
  void add_gradient(Value& to, TensorId dx);
  TensorId copy_of(TensorId dy);
  void place_parameters_and_arena();
  void add(Pass pass, Operation operation, const std::vector<TensorId>& tensors);
  void use(TensorId id, int clock);
  TensorId place(Home home, std::size_t offset, const Desc& desc);

  gpu::Queue& queue_;
  const Graph& graph_;
  const Type type_;
  const gpu::Products products_;
  const KernelOptions kernels_;
  std::vector<Node> nodes_;
  Plan plan_;
  std::vector<TensorId> parameter_tensors_, gradient_tensors_, weight_tensors_;
  std::vector<std::pair<TensorId, std::size_t>> workspaces_;  ///< tensor, number of its call
  std::vector<Value> values_;
  std::vector<BackwardToAll> backward_;  ///< by node; empty: the gradient passes as it is
  std::vector<TensorId> kept_;
  std::map<TensorId, TensorId> sums_;  ///< same_sums()
  std::vector<TensorId> inputs_;       ///< of the node that is being added
  TensorId labels_ = -1, targets_ = -1, partner_labels_ = -1, partner_shares_ = -1, result_ = -1;
  std::size_t current_ = 0;            ///< the node that is being added
  std::vector<int> segments_;          ///< of nodes that backward computes again; -1: others
  std::vector<int> forward_segments_;  ///< of plan_.forward
  TensorId second_gradient_ = -1;      ///< second_gradient()
  int segment_ = -1;                   ///< of the forward operations that are being added
  bool in_backward_ = false;
  int clock_ = 0;
};

}  // namespace thalweg::engine::cuda
