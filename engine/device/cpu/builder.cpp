#include "engine/device/cpu/builder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/device/memory_plan.h"

namespace thalweg::engine::cpu {
namespace {

/// (n, c, h, w) or (n, features)
Desc plain_batch(const Shape& sample, int samples) {
  Dims dims{samples};
  dims.insert(dims.end(), sample.begin(), sample.end());
  switch (dims.size()) {
    case 2:
      return Desc(dims, f32, Tag::ab);
    case 4:
      return Desc(dims, f32, Tag::abcd);
    default:
      throw std::invalid_argument("the cpu device expects features or images (c, h, w), got " +
                                  to_text(sample));
  }
}

}  // namespace

Builder::Builder(const Graph& graph, int samples) : graph_(graph), nodes_(fuse(graph)) {
  plan_.samples = samples;
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

TensorId Builder::view(TensorId base, const Desc& desc, Order order) {
  const Tensor& of = tensor(base);
  const TensorId root = of.base >= 0 ? of.base : base;
  const TensorId id = place(of.home, of.offset, desc);
  plan_.tensors[static_cast<std::size_t>(id)].base = root;
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
  wants_gradient_ = true;
  return parameter_tensors_[n];
}

TensorId Builder::gradient(int number) {
  return gradient_tensors_[static_cast<std::size_t>(number)];
}

TensorId Builder::statistic(std::size_t offset, const Desc& desc) {
  return place(Home::statistics, offset * sizeof(float), desc);
}

TensorId Builder::running(std::size_t offset, const Desc& desc) {
  return place(Home::running, offset * sizeof(float), desc);
}

void Builder::use(TensorId id, int clock) {
  const TensorId root = tensor(id).base >= 0 ? tensor(id).base : id;
  Tensor& of = plan_.tensors[static_cast<std::size_t>(root)];
  if (of.first_use < 0) of.first_use = clock;
  of.last_use = clock;
}

void Builder::add(Pass pass, Operation operation) {
  ++clock_;
  for (const auto& [argument, id] : operation.arguments)
    use(id, clock_);
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
  if (pass != Pass::evaluation) ++plan_.reorders;
}

TensorId Builder::in_plain_order(Pass pass, TensorId x) {
  const Order order = tensor(x).order;
  if (order == nullptr) return x;
  const std::int64_t features =
      std::count_if(order->begin(), order->end(), [](std::int32_t i) { return i >= 0; });
  const TensorId y = activation(Desc({samples(), features}, f32, Tag::ab));
  kernel(pass, {x, y}, [=, n = samples()](const Frame& frame) {
    const float* from = frame.floats(x);
    float* to = frame.floats(y);
    for (int s = 0; s < n; ++s, from += order->size(), to += features)
      for (std::size_t i = 0; i < order->size(); ++i)
        if ((*order)[i] >= 0) to[(*order)[i]] = from[i];
  });
  ++plan_.reorders;
  return y;
}

TensorId Builder::out_of_plain_order(TensorId dy, TensorId x) {
  const Order order = tensor(x).order;
  if (order == nullptr) return dy;
  const std::int64_t features = dims_of(desc(dy))[1];
  const TensorId dx = activation(desc(x));
  kernel(Pass::backward, {dy, dx}, [=, n = samples()](const Frame& frame) {
    const float* from = frame.floats(dy);
    float* to = frame.floats(dx);
    for (int s = 0; s < n; ++s, from += features, to += order->size())
      for (std::size_t i = 0; i < order->size(); ++i)
        to[i] = (*order)[i] >= 0 ? from[(*order)[i]] : 0.0f;
  });
  ++plan_.reorders;
  return dx;
}

void Builder::on_backward(Backward backward) {
  // What stands before the first parameters has no backward to run.
  if (wants_gradient_) backward_.push_back(std::move(backward));
}

void Builder::ready(int number) {
  plan_.backward.back().ready.push_back(number);
}

Plan Builder::finish() {
  TensorId x = place(Home::input, 0, plain_batch(graph_.input, samples()));
  for (const Node& node : nodes_)
    x = node.layer->kind->cpu(*this, node, x);
  plan_.logits = in_layout(Pass::both, in_plain_order(Pass::both, x),
                           Desc({samples(), graph_.classes}, f32, Tag::ab));
  use(plan_.logits, ++clock_);
  TensorId dy = activation(desc(plan_.logits));
  plan_.logits_gradient = dy;
  use(dy, clock_);
  dy = out_of_plain_order(dy, x);
  for (auto backward = backward_.rbegin(); backward != backward_.rend(); ++backward)
    dy = (*backward)(dy);

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
    if (t.base >= 0) t.offset = plan_.tensors[static_cast<std::size_t>(t.base)].offset;
  plan_.arena_bytes = memory.bytes;
  return std::move(plan_);
}

}  // namespace thalweg::engine::cpu
