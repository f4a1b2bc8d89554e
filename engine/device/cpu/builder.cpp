#include "engine/device/cpu/builder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/device/cpu/interleave.h"
#include "engine/device/cpu/types.h"
#include "engine/device/device.h"
#include "engine/device/memory_plan.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

/// (n, features), (n, positions, features), (n, c, h, w), (n, c, d, h, w)
Desc plain_batch(const Shape& sample, int samples) {
  Dims dims{samples};
  dims.insert(dims.end(), sample.begin(), sample.end());
  if (dims.size() > 5)
    throw std::invalid_argument("the cpu device expects at most four dimensions, got " +
                                to_text(sample));
  return plain_desc(dims);
}

THALWEG_SIMD void add_to(const float* __restrict from, std::size_t count, float* __restrict into) {
  for (std::size_t i = 0; i < count; ++i)
    into[i] += from[i];
}
THALWEG_SIMD void add_to(const Bf16* __restrict from, std::size_t count, Bf16* __restrict into) {
  for (std::size_t i = 0; i < count; ++i)
    into[i] = to_bf16(to_float(into[i]) + to_float(from[i]));
}

}  // namespace

Builder::Builder(const Graph& graph, int samples, Precision precision)
    : graph_(graph),
      type_(precision == Precision::bf16 ? bf16 : f32),
      nodes_(fuse(graph, joins)),
      values_(graph.layers.size() + 1),
      backward_(nodes_.size()) {
  plan_.samples = samples;
  const std::vector<int> uses = graph.uses();
  for (std::size_t v = 0; v < values_.size(); ++v)
    values_[v].uses = uses[v];
}

Type Builder::output_type() const {
  return static_cast<std::size_t>(nodes_[current_].value) + 1 == values_.size() ? f32 : type_;
}

bool Builder::wants_input_gradient(std::size_t k) const {
  return value(nodes_[current_].layer->from[k]).wants_gradient;
}

TensorId Builder::place(Home home, std::size_t offset, const Desc& desc) {
  Tensor tensor;
  tensor.desc = desc;
  tensor.home = home;
  tensor.offset = offset;
  plan_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(plan_.tensors.size() - 1);
}

TensorId Builder::activation(const Desc& desc) {
  return place(Home::arena, 0, desc);
}

TensorId Builder::bytes(std::size_t count) {
  return activation(Desc({static_cast<std::int64_t>(count)}, dnnl::memory::data_type::u8, Tag::a));
}

TensorId Builder::like(TensorId x) {
  const TensorId y = activation(desc(x));
  plan_.tensors[static_cast<std::size_t>(y)].order = tensor(x).order;
  return y;
}

bool Builder::may_overwrite(TensorId x) const {
  if (tensor(x).home != Home::arena) return false;
  if (std::find(kept_.begin(), kept_.end(), root(x)) != kept_.end()) return false;
  return std::none_of(values_.begin(), values_.end(), [&](const Value& v) {
    return v.tensor >= 0 && v.uses > 1 && root(v.tensor) == root(x);
  });
}

TensorId Builder::copy_of(TensorId dy) {
  const TensorId copy = like(dy);
  const std::size_t bytes = desc(dy).get_size();
  kernel(Pass::backward, {dy, copy},
         [=](const Frame& frame) { std::copy_n(frame.bytes(dy), bytes, frame.bytes(copy)); });
  return copy;
}

TensorId Builder::writable(TensorId dy) {
  const bool shared = std::any_of(values_.begin(), values_.end(), [&](const Value& v) {
    return v.gradient >= 0 && root(v.gradient) == root(dy);
  });
  return shared ? copy_of(dy) : dy;
}

TensorId Builder::view(TensorId base, const Desc& desc, Order order, std::size_t first) {
  const Tensor& of = tensor(base);
  const TensorId whole = root(base);
  const std::size_t shift = of.shift + first * size_of(type_of(of.desc));
  const TensorId id = place(of.home, tensor(whole).offset + shift, desc);
  plan_.tensors[static_cast<std::size_t>(id)].shift = shift;
  plan_.tensors[static_cast<std::size_t>(id)].base = whole;
  plan_.tensors[static_cast<std::size_t>(id)].order = std::move(order);
  return id;
}

TensorId Builder::parameter(int number, const Desc& desc, const Desc& plain, Order order) {
  const auto n = static_cast<std::size_t>(number);
  plan_.parameters.resize(std::max(plan_.parameters.size(), n + 1));
  plan_.parameters[n] = {desc, plain, std::move(order)};
  parameter_tensors_.resize(plan_.parameters.size(), -1);
  gradient_tensors_.resize(plan_.parameters.size(), -1);
  // Offsets are known when all layouts are: finish() fills them in.
  parameter_tensors_[n] = place(Home::parameters, 0, desc);
  gradient_tensors_[n] = place(Home::gradients, 0, desc);
  return parameter_tensors_[n];
}

TensorId Builder::gradient(int number) {
  return gradient_tensors_[static_cast<std::size_t>(number)];
}

TensorId Builder::weights(int number, const Desc& wanted) {
  const TensorId given = parameter_tensors_[static_cast<std::size_t>(number)];
  if (desc(given) == wanted) return given;
  for (const auto& [whose, copy] : weights_)
    if (whose == number && desc(copy) == wanted) return copy;
  const TensorId copy = place(Home::weights, plan_.weight_bytes, wanted);
  plan_.weight_bytes += round_up(wanted.get_size(), alignment_bytes);
  if (Kernel own = interleave(given, desc(given), copy, wanted))
    kernel(Pass::weights, {given, copy}, std::move(own));
  else
    primitive(Pass::weights, reorder_desc(desc(given), wanted),
              {{DNNL_ARG_FROM, given}, {DNNL_ARG_TO, copy}});
  weights_.emplace_back(number, copy);
  return copy;
}

TensorId Builder::statistic(std::size_t offset, const Desc& desc) {
  return place(Home::statistics, offset * sizeof(float), desc);
}

TensorId Builder::running(std::size_t offset, const Desc& desc) {
  return place(Home::running, offset * sizeof(float), desc);
}

void Builder::use(TensorId id, int clock) {
  Tensor& of = plan_.tensors[static_cast<std::size_t>(root(id))];
  if (of.first_use < 0) of.first_use = clock;
  of.last_use = clock;
}

void Builder::add(Pass pass, Operation operation) {
  ++clock_;
  for (const auto& [argument, id] : operation.arguments)
    use(id, clock_);
  operation.layer = nodes_[std::min(current_, nodes_.size() - 1)].layer->number;
  if (pass == Pass::weights) {
    plan_.weights.push_back(std::move(operation));
    return;
  }
  if (pass == Pass::backward) {
    plan_.backward.push_back(std::move(operation));
    return;
  }
  if (pass != Pass::training) plan_.evaluation.push_back(operation);
  if (pass != Pass::evaluation) plan_.forward.push_back(std::move(operation));
}

void Builder::kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel) {
  Operation operation;
  for (const TensorId id : tensors)
    operation.arguments.emplace_back(0, id);
  operation.kernel = std::move(kernel);
  add(pass, std::move(operation));
}

TensorId Builder::in_layout(Pass pass, TensorId x, const Desc& wanted) {
  if (desc(x) == wanted) return x;
  const TensorId y = activation(wanted);
  reorder(pass, x, y);
  return y;
}

void Builder::reorder(Pass pass, TensorId x, TensorId y) {
  primitive(pass, reorder_desc(desc(x), desc(y)), {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, y}});
  if (pass == Pass::evaluation) return;
  ++(type_of(desc(x)) == type_of(desc(y)) ? plan_.reorders : plan_.conversions);
}

TensorId Builder::in_type(Pass pass, TensorId x, Type type) {
  if (type_of(desc(x)) == type) return x;
  const TensorId y = in_layout(pass, x, plain_desc(dims_of(desc(x)), type));
  plan_.tensors[static_cast<std::size_t>(y)].order = tensor(x).order;
  return y;
}

TensorId Builder::in_plain_order(Pass pass, TensorId x) {
  const Order order = tensor(x).order;
  if (order == nullptr) return x;
  const std::int64_t features =
      std::count_if(order->begin(), order->end(), [](std::int32_t i) { return i >= 0; });
  const Type type = type_of(desc(x));
  const TensorId y = activation(Desc({samples(), features}, type, Tag::ab));
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    kernel(pass, {x, y}, [=, n = samples()](const Frame& frame) {
      const T* from = frame.as<T>(x);
      T* to = frame.as<T>(y);
      for (int s = 0; s < n; ++s, from += order->size(), to += features)
        for (std::size_t i = 0; i < order->size(); ++i)
          if ((*order)[i] >= 0) to[(*order)[i]] = from[i];
    });
  });
  ++plan_.reorders;
  return y;
}

TensorId Builder::out_of_plain_order(TensorId dy, TensorId x) {
  const Order order = tensor(x).order;
  if (order == nullptr) return dy;
  const std::int64_t features = dims_of(desc(dy))[1];
  const Type type = type_of(desc(dy));
  const TensorId dx = activation(plain_desc(dims_of(desc(x)), type));
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    kernel(Pass::backward, {dy, dx}, [=, n = samples()](const Frame& frame) {
      const T* from = frame.as<T>(dy);
      T* to = frame.as<T>(dx);
      for (int s = 0; s < n; ++s, from += features, to += order->size())
        for (std::size_t i = 0; i < order->size(); ++i)
          to[i] = (*order)[i] >= 0 ? from[(*order)[i]] : T{};
    });
  });
  ++plan_.reorders;
  return dx;
}

void Builder::on_backward(Backward backward) {
  on_backward_to_all([backward = std::move(backward)](TensorId dy) {
    return std::vector<TensorId>{backward(dy)};
  });
}

void Builder::on_backward_to_all(BackwardToAll backward) {
  backward_[current_] = std::move(backward);
}

void Builder::ready(int number) {
  plan_.backward.back().ready.push_back(number);
}

void Builder::add_in_place(TensorId a, TensorId b) {
  const TensorId from = in_layout(Pass::backward, b, desc(a));
  const std::size_t count = count_of(desc(a));
  with_type(type_of(desc(a)), [&](auto zero) {
    using T = decltype(zero);
    kernel(Pass::backward, {from, a},
           [=](const Frame& frame) { add_to(frame.as<T>(from), count, frame.as<T>(a)); });
  });
}

void Builder::add_gradient(Value& to, TensorId dx) {
  if (!to.wants_gradient) return;
  if (to.gradient < 0) {
    to.gradient = dx;
    return;
  }
  const TensorId before = std::exchange(to.gradient, -1);
  to.gradient = root(before) == root(dx) ? copy_of(before) : writable(before);
  add_in_place(to.gradient, dx);
}

void Builder::add_forward(const Node& node) {
  Value& y = value(node.value);
  y.wants_gradient = has_parameters(node);
  for (const int from : node.layer->from)
    y.wants_gradient = y.wants_gradient || value(from).wants_gradient;
  inputs_.clear();
  for (const int from : node.layer->from)
    inputs_.push_back(node.layer->kind->floats_on_cpu ? in_type(Pass::both, value(from).tensor, f32)
                                                      : value(from).tensor);
  y.tensor = node.layer->kind->cpu(*this, node, input(0));
}

void Builder::add_backward(const Node& node) {
  Value& y = value(node.value);
  if (!y.wants_gradient) return;
  TensorId dy = std::exchange(y.gradient, -1);
  if (type_of(desc(dy)) != type_of(desc(y.tensor)))
    dy = in_layout(Pass::backward, dy, desc(y.tensor));
  const BackwardToAll& backward = backward_[current_];
  const std::vector<TensorId> dx = backward ? backward(dy) : std::vector<TensorId>{dy};
  for (std::size_t k = 0; k < dx.size(); ++k)
    add_gradient(value(node.layer->from[k]), dx[k]);
}

Plan Builder::finish() {
  values_.front().tensor = place(Home::input, 0, plain_batch(graph_.input, samples()));
  for (current_ = 0; current_ < nodes_.size(); ++current_)
    add_forward(nodes_[current_]);
  const TensorId x = values_.back().tensor;
  plan_.output = in_layout(Pass::both, in_plain_order(Pass::both, x),
                           plain_batch(graph_.layers.back().out, samples()));
  use(plan_.output, ++clock_);
  const TensorId dy = activation(desc(plan_.output));
  plan_.output_gradient = dy;
  use(dy, clock_);
  values_.back().gradient = out_of_plain_order(dy, x);
  for (current_ = nodes_.size(); current_-- > 0;)
    add_backward(nodes_[current_]);
  place_parameters_and_arena();
  return std::move(plan_);
}

void Builder::place_parameters_and_arena() {
  std::vector<std::size_t> counts;
  for (const Parameter& parameter : plan_.parameters)
    counts.push_back(parameter.desc.get_size() / sizeof(float));
  const auto infos = place_parameters(graph_, counts);
  for (std::size_t i = 0; i < infos.size(); ++i)
    for (const TensorId id : {parameter_tensors_[i], gradient_tensors_[i]})
      plan_.tensors[static_cast<std::size_t>(id)].offset = infos[i].offset * sizeof(float);

  std::vector<Lifetime> lives;
  std::vector<std::size_t> whose;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const Tensor& t = plan_.tensors[i];
    if (t.home != Home::arena || t.base >= 0 || t.first_use < 0) continue;
    lives.push_back({t.desc.get_size(), t.first_use, t.last_use});
    whose.push_back(i);
  }
  const MemoryPlan memory = plan_memory(lives);
  for (std::size_t i = 0; i < whose.size(); ++i)
    plan_.tensors[whose[i]].offset = memory.offsets[i];
  for (Tensor& t : plan_.tensors)
    if (t.base >= 0) t.offset = plan_.tensors[static_cast<std::size_t>(t.base)].offset + t.shift;
  plan_.arena_bytes = memory.bytes;
}

}  // namespace thalweg::engine::cpu
