// The compiler of graphs that all planning devices share: which layers are joined, the order of
// operations forward and backward, who adds up the gradients of a value that several layers take,
// what is kept for backward or computed again, what may be overwritten, and where everything lies.
// A device's builder derives from it and adds kernels and layouts. Used by one thread.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/device/graph/node.h"
#include "engine/device/graph/plan.h"

namespace thalweg::engine {

template <class Plan>
class GraphBuilder {
 public:
  using Tensor = typename decltype(Plan::tensors)::value_type;
  using Desc = decltype(Tensor::desc);
  using Operation = typename decltype(Plan::forward)::value_type;
  using Parameter = typename decltype(Plan::parameters)::value_type;

  /// When an operation runs; `weights`: before the others, where the parameters have changed.
  enum class Pass { both, training, evaluation, backward, weights };

  /// Takes the gradient of a layer's output, returns that of its input (anything where nobody wants
  /// it).
  using Backward = std::function<TensorId(TensorId dy)>;
  /// The same for a layer of several inputs: one gradient each.
  using BackwardToAll = std::function<std::vector<TensorId>(TensorId dy)>;

  virtual ~GraphBuilder() = default;
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  int samples() const { return plan_.samples; }
  const Tensor& tensor(TensorId id) const { return plan_.tensors[static_cast<std::size_t>(id)]; }
  const Desc& desc(TensorId id) const { return tensor(id).desc; }

  /// Input k of the layer that is being added; its maker gets the first one as `x`.
  TensorId input(std::size_t k) const { return inputs_[k]; }
  std::size_t inputs() const { return inputs_.size(); }

  /// Arena memory; alive from its first operation to its last.
  TensorId activation(const Desc& desc) { return place(Home::arena, 0, desc); }
  /// False where x lies in the caller's memory, other layers take it too, or it is kept.
  bool may_overwrite(TensorId x) const;
  /// The backward operations of the layer that put x out read it: no layer may overwrite it.
  void keep(TensorId x) { kept_.push_back(root(x)); }
  bool same_memory(TensorId a, TensorId b) const { return root(a) == root(b); }
  /// a += b, in backward.
  virtual void add_in_place(TensorId a, TensorId b) = 0;
  /// A gradient that may be changed in place: dy itself, or a copy where it is that of other values
  /// too. For backward functions, of their argument.
  TensorId writable(TensorId dy);
  /// In backward: every channel of x has the sum that it has in `fewer`, which has fewer rows.
  void same_sums(TensorId x, TensorId fewer) { sums_[x] = fewer; }
  /// What to add up where the sums of x's channels are wanted: x itself or a smaller tensor.
  TensorId with_same_sums(TensorId x) const;
  TensorId gradient(int number) const {
    return gradient_tensors_[static_cast<std::size_t>(number)];
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

 protected:
  /// With `recompute` backward computes the layers again that segments_of() says.
  GraphBuilder(const Graph& graph, int samples, const Joins& joins, bool recompute = false);

  // What a device brings.
  virtual TensorId add_input() = 0;
  /// Adds a layer's forward operations, returns what it puts out.
  virtual TensorId add_layer(const Node& node, TensorId x) = 0;
  /// Returns the gradient of `output`.
  virtual TensorId add_loss(TensorId output) = 0;
  /// What a layer is given of a value, and its backward function of the gradient of `y`.
  virtual TensorId as_input(const Node& node, TensorId x) = 0;
  virtual TensorId as_gradient(const Node& node, TensorId dy, TensorId y) = 0;
  /// The gradient of `y` in its shape.
  virtual TensorId in_shape_of(TensorId dx, TensorId y) = 0;
  virtual TensorId copy_of(TensorId dy) = 0;
  /// Of a tensor in the arena, of a parameter in the device's layout.
  virtual std::size_t bytes_of(const Tensor& tensor) const = 0;
  virtual std::size_t floats_of(const Parameter& parameter) const = 0;

  /// Adds all operations, from the input to the first layer's gradients.
  void add_all();
  /// After that, one after the other: where parameters lie; and all else.
  void place_parameters_and_gradients();
  void place_arena();

  Tensor& at(TensorId id) { return plan_.tensors[static_cast<std::size_t>(id)]; }
  TensorId root(TensorId id) const { return tensor(id).base >= 0 ? tensor(id).base : id; }
  TensorId place(Home home, std::size_t offset, const Desc& desc);
  /// Parameter `number` and its gradient.
  TensorId place_parameter(int number, const Desc& desc);
  /// The memory of `base` from its byte `first` on.
  TensorId view_of(TensorId base, const Desc& desc, std::size_t first);
  void add(Pass pass, Operation operation, const std::vector<TensorId>& tensors);
  /// An operation uses them (-1: none) at the clock's next tick.
  void touch(const std::vector<TensorId>& tensors);
  const Node& current() const { return nodes_[current_]; }
  /// The loss is taken over what the layer that is being added puts out.
  bool is_last() const { return static_cast<std::size_t>(current().value) + 1 == values_.size(); }

  const Graph& graph_;
  std::vector<Node> nodes_;
  Plan plan_;
  std::vector<TensorId> parameter_tensors_, gradient_tensors_;

 private:
  struct Value {
    TensorId tensor = -1;
    TensorId gradient = -1;  ///< the sum of the gradients that have come so far
    TensorId second = -1;    ///< one that its maker's backward adds to that in its own pass
    bool takes_two = false;
    int uses = 0;
    bool wants_gradient = false;
  };
  /// Of an operation of plan_.forward.
  struct Done {
    int segment;
    std::vector<TensorId> tensors;
  };
  Value& value(int number) { return values_[static_cast<std::size_t>(number)]; }
  const Value& value(int number) const { return values_[static_cast<std::size_t>(number)]; }
  void add_forward(const Node& node);
  void add_backward(const Node& node);
  void add_gradient(Value& to, TensorId dx);
  void compute_again(int segment);
  void use(TensorId id);

  std::vector<Value> values_;
  std::vector<BackwardToAll> backward_;  ///< by node; empty: the gradient passes as it is
  std::vector<TensorId> kept_;
  std::map<TensorId, TensorId> sums_;  ///< same_sums()
  std::vector<TensorId> inputs_;       ///< of the node that is being added
  std::size_t current_ = 0;            ///< the node that is being added
  std::vector<int> segments_;          ///< of nodes that backward computes again; -1: others
  std::vector<Done> done_;
  TensorId second_gradient_ = -1;  ///< second_gradient()
  int segment_ = -1;               ///< of the forward operations that are being added
  bool in_backward_ = false;
  int clock_ = 0;
};

}  // namespace thalweg::engine
