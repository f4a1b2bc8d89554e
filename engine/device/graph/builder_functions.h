// The functions of GraphBuilder: for the file of a device that instantiates it.
#pragma once

#include <algorithm>

#include "engine/device/device.h"
#include "engine/device/graph/builder.h"
#include "engine/device/graph/recompute.h"
#include "engine/device/memory_plan.h"

namespace thalweg::engine {

template <class Plan>
GraphBuilder<Plan>::GraphBuilder(const Graph& graph, int samples, const Joins& joins,
                                 bool recompute)
    : graph_(graph),
      nodes_(fuse(graph, joins)),
      values_(graph.layers.size() + 1),
      backward_(nodes_.size()),
      segments_(recompute ? segments_of(graph, nodes_) : std::vector<int>(nodes_.size(), -1)) {
  plan_.samples = samples;
  const std::vector<int> uses = graph.uses();
  for (std::size_t v = 0; v < values_.size(); ++v)
    values_[v].uses = uses[v];
  for (const Node& node : nodes_)
    value(node.value).takes_two = adds_before_relu(node);
}

template <class Plan>
TensorId GraphBuilder<Plan>::place(Home home, std::size_t offset, const Desc& desc) {
  Tensor tensor;
  tensor.desc = desc;
  tensor.home = home;
  tensor.offset = offset;
  tensor.segment = home == Home::arena ? segment_ : -1;
  plan_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(plan_.tensors.size() - 1);
}

template <class Plan>
TensorId GraphBuilder<Plan>::place_parameter(int number, const Desc& desc) {
  const auto n = static_cast<std::size_t>(number);
  const std::size_t count = std::max(parameter_tensors_.size(), n + 1);
  parameter_tensors_.resize(count, -1);
  gradient_tensors_.resize(count, -1);
  // Offsets are known when all parameters are: place_parameters_and_gradients() fills them in.
  parameter_tensors_[n] = place(Home::parameters, 0, desc);
  gradient_tensors_[n] = place(Home::gradients, 0, desc);
  return parameter_tensors_[n];
}

template <class Plan>
TensorId GraphBuilder<Plan>::view_of(TensorId base, const Desc& desc, std::size_t first) {
  const TensorId whole = root(base);
  const std::size_t shift = tensor(base).shift + first;
  const TensorId id = place(tensor(whole).home, tensor(whole).offset + shift, desc);
  at(id).shift = shift;
  at(id).base = whole;
  return id;
}

template <class Plan>
bool GraphBuilder<Plan>::may_overwrite(TensorId x) const {
  if (tensor(x).home != Home::arena) return false;
  if (std::find(kept_.begin(), kept_.end(), root(x)) != kept_.end()) return false;
  return std::none_of(values_.begin(), values_.end(), [&](const Value& v) {
    return v.tensor >= 0 && v.uses > 1 && same_memory(v.tensor, x);
  });
}

template <class Plan>
TensorId GraphBuilder<Plan>::writable(TensorId dy) {
  const bool shared = std::any_of(values_.begin(), values_.end(), [&](const Value& v) {
    return (v.gradient >= 0 && same_memory(v.gradient, dy)) ||
           (v.second >= 0 && same_memory(v.second, dy));
  });
  if (shared) return copy_of(dy);
  std::erase_if(sums_, [&](const auto& pair) {
    return same_memory(pair.first, dy) || same_memory(pair.second, dy);
  });
  return dy;
}

template <class Plan>
TensorId GraphBuilder<Plan>::with_same_sums(TensorId x) const {
  const auto found = sums_.find(x);
  return found == sums_.end() ? x : found->second;
}

template <class Plan>
void GraphBuilder<Plan>::on_backward(Backward backward) {
  on_backward_to_all([backward = std::move(backward)](TensorId dy) {
    return std::vector<TensorId>{backward(dy)};
  });
}

template <class Plan>
void GraphBuilder<Plan>::on_backward_to_all(BackwardToAll backward) {
  backward_[current_] = std::move(backward);
}

template <class Plan>
bool GraphBuilder<Plan>::wants_input_gradient(std::size_t k) const {
  return value(current().from[k]).wants_gradient;
}

template <class Plan>
TensorId GraphBuilder<Plan>::take_gradient(const Desc& wanted, std::size_t k) {
  TensorId& gradient = value(current().from[k]).gradient;
  return gradient >= 0 && desc(gradient) == wanted ? std::exchange(gradient, -1) : -1;
}

template <class Plan>
void GraphBuilder<Plan>::ready(int number) {
  plan_.backward.back().ready.push_back(number);
  plan_.ready_order.push_back(number);
}

template <class Plan>
void GraphBuilder<Plan>::use(TensorId id) {
  if (id < 0) return;
  Tensor& of = at(root(id));
  const bool again = in_backward_ && of.segment >= 0;
  int& first = again ? of.first_again : of.first_use;
  if (first < 0) first = clock_;
  (again ? of.last_again : of.last_use) = clock_;
}

template <class Plan>
void GraphBuilder<Plan>::touch(const std::vector<TensorId>& tensors) {
  ++clock_;
  for (const TensorId id : tensors)
    use(id);
}

template <class Plan>
void GraphBuilder<Plan>::add(Pass pass, Operation operation, const std::vector<TensorId>& tensors) {
  touch(tensors);
  operation.layer = nodes_[std::min(current_, nodes_.size() - 1)].layer->number;
  if (pass == Pass::weights || pass == Pass::backward) {
    (pass == Pass::weights ? plan_.weights : plan_.backward).push_back(std::move(operation));
    return;
  }
  if (pass != Pass::training) plan_.evaluation.push_back(operation);
  if (pass == Pass::evaluation) return;
  plan_.forward.push_back(std::move(operation));
  done_.push_back({segment_, tensors});
}

template <class Plan>
void GraphBuilder<Plan>::add_forward(const Node& node) {
  Value& y = value(node.value);
  y.wants_gradient = !node.layer->parameters.empty();
  for (const int from : node.from)
    y.wants_gradient = y.wants_gradient || value(from).wants_gradient;
  inputs_.clear();
  for (const int from : node.from)
    inputs_.push_back(as_input(node, value(from).tensor));
  y.tensor = add_layer(node, input(0));
  if (segment_ < 0 || !crosses(nodes_, segments_, current_)) return;
  at(root(y.tensor)).segment = -1;
  keep(y.tensor);
}

// The same operations on the same numbers: what they write has the same bits.
template <class Plan>
void GraphBuilder<Plan>::compute_again(int segment) {
  for (std::size_t i = 0; i < plan_.forward.size(); ++i) {
    if (done_[i].segment != segment) continue;
    touch(done_[i].tensors);
    plan_.backward.push_back(plan_.forward[i]);
    ++plan_.recomputed;
  }
}

template <class Plan>
void GraphBuilder<Plan>::add_gradient(Value& to, TensorId dx) {
  if (!to.wants_gradient) return;
  dx = in_shape_of(dx, to.tensor);
  if (to.gradient < 0) {
    to.gradient = dx;
    return;
  }
  if (to.takes_two && to.second < 0 && !same_memory(to.gradient, dx)) {
    to.second = dx;
    return;
  }
  const TensorId before = std::exchange(to.gradient, -1);
  to.gradient = same_memory(before, dx) ? copy_of(before) : writable(before);
  add_in_place(to.gradient, dx);
}

template <class Plan>
void GraphBuilder<Plan>::add_backward(const Node& node) {
  Value& y = value(node.value);
  if (!y.wants_gradient) return;
  second_gradient_ = std::exchange(y.second, -1);
  const TensorId dy = as_gradient(node, std::exchange(y.gradient, -1), y.tensor);
  const BackwardToAll& backward = backward_[current_];
  const std::vector<TensorId> dx = backward ? backward(dy) : std::vector<TensorId>{dy};
  for (std::size_t k = 0; k < dx.size(); ++k)
    add_gradient(value(node.from[k]), dx[k]);
}

template <class Plan>
void GraphBuilder<Plan>::add_all() {
  value(0).tensor = add_input();
  // Layers that are computed again must find the input as they found it first.
  if (std::any_of(segments_.begin(), segments_.end(), [](int s) { return s >= 0; }))
    keep(value(0).tensor);
  for (current_ = 0; current_ < nodes_.size(); ++current_) {
    segment_ = segments_[current_];
    add_forward(current());
  }
  segment_ = -1;
  values_.back().gradient = add_loss(values_.back().tensor);
  in_backward_ = true;
  int computed = -1;
  for (current_ = nodes_.size(); current_-- > 0;) {
    if (value(current().value).wants_gradient && segments_[current_] != computed) {
      computed = segments_[current_];
      compute_again(computed);
    }
    add_backward(current());
  }
}

template <class Plan>
void GraphBuilder<Plan>::place_parameters_and_gradients() {
  std::vector<std::size_t> counts;
  for (const Parameter& parameter : plan_.parameters)
    counts.push_back(floats_of(parameter));
  plan_.infos = place_parameters(graph_, counts);
  for (std::size_t i = 0; i < plan_.infos.size(); ++i)
    for (const TensorId id : {parameter_tensors_[i], gradient_tensors_[i]})
      at(id).offset = plan_.infos[i].offset * sizeof(float);
}

template <class Plan>
void GraphBuilder<Plan>::place_arena() {
  std::vector<Lifetime> lives;
  std::vector<std::size_t*> places;
  for (Tensor& t : plan_.tensors) {
    if (t.home != Home::arena || t.base >= 0) continue;
    const auto live = [&](int first, int last, std::size_t& place) {
      if (first < 0) return;
      lives.push_back({bytes_of(t), first, last});
      places.push_back(&place);
    };
    live(t.first_use, t.last_use, t.offset);
    live(t.first_again, t.last_again, t.again);
  }
  const MemoryPlan memory = plan_memory(lives);
  for (std::size_t i = 0; i < places.size(); ++i)
    *places[i] = memory.offsets[i];
  for (Tensor& t : plan_.tensors)
    if (t.base < 0 && t.first_again < 0) t.again = t.offset;
  for (Tensor& t : plan_.tensors)
    if (t.base >= 0) {
      t.offset = tensor(t.base).offset + t.shift;
      t.again = tensor(t.base).again + t.shift;
    }
  plan_.arena_bytes = memory.bytes;
}

}  // namespace thalweg::engine
