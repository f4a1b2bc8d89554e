#include "engine/device/cuda/builder.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/device/cuda/kernel_choice.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/padded_channels.h"
#include "engine/device/device.h"
#include "engine/device/graph/recompute.h"
#include "engine/device/memory_plan.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine::cuda {
namespace {

Shape batch_of(const Shape& sample, std::int64_t samples) {
  Shape dims{samples};
  dims.insert(dims.end(), sample.begin(), sample.end());
  if (dims.size() > 5)
    throw std::invalid_argument("the cuda device expects at most four dimensions, got " +
                                to_text(sample));
  return dims;
}

bool takes_tokens(const Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const LayerPlan& layer) {
    return layer.kind->tokens && layer.from.front() == 0;
  });
}

/// Only convolutions take the images, and cuDNN would pad their channels.
bool pads_input(const std::vector<Node>& nodes, const Shape& dims, Type type) {
  if (dims.size() < 4 || !pads_channels(dims[1], type)) return false;
  return std::all_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return std::find(node.from.begin(), node.from.end(), 0) == node.from.end() ||
           node.layer->kind->convolves;
  });
}

}  // namespace

Builder::Builder(gpu::Queue& queue, const Graph& graph, int samples, const CompileOptions& options)
    : queue_(queue),
      graph_(graph),
      type_(options.precision == Precision::bf16 ? Type::bf16 : Type::f32),
      products_(options.precision == Precision::fp32 ? gpu::Products::fp32 : gpu::Products::tf32),
      kernels_(options.kernels),
      nodes_(fuse(graph, joins)),
      values_(graph.layers.size() + 1),
      backward_(nodes_.size()),
      segments_(options.recompute ? segments_of(graph, nodes_)
                                  : std::vector<int>(nodes_.size(), -1)) {
  plan_.samples = samples;
  const std::vector<int> uses = graph.uses();
  for (std::size_t v = 0; v < values_.size(); ++v)
    values_[v].uses = uses[v];
  for (const Node& node : nodes_)
    value(node.value).takes_two = adds_before_relu(node);
}

Type Builder::output_type() const {
  const bool last = static_cast<std::size_t>(nodes_[current_].value) + 1 == values_.size();
  return last ? logits_type() : type_;
}

Type Builder::logits_type() const {
  constexpr int many = 4096;  // as many bytes as all else together in a language model
  const bool takes = graph_.loss.kind->any_logits && graph_.loss.data.classes >= many;
  return takes ? type_ : Type::f32;
}

TensorId Builder::place(Home home, std::size_t offset, const Desc& desc) {
  Tensor tensor;
  tensor.desc = desc;
  tensor.home = home;
  tensor.offset = offset;
  tensor.segment = home == Home::arena ? segment_ : -1;
  plan_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(plan_.tensors.size() - 1);
}

TensorId Builder::activation(const Desc& desc) {
  return place(Home::arena, 0, desc);
}

TensorId Builder::scratch(std::int64_t count, std::size_t bytes) {
  const std::int64_t floats = (count * static_cast<std::int64_t>(bytes) + 3) / 4;
  return activation(Desc{{floats}, Type::f32});
}

bool Builder::may_overwrite(TensorId x) const {
  if (tensor(x).home != Home::arena) return false;
  if (std::find(kept_.begin(), kept_.end(), root(x)) != kept_.end()) return false;
  return std::none_of(values_.begin(), values_.end(), [&](const Value& v) {
    return v.tensor >= 0 && v.uses > 1 && root(v.tensor) == root(x);
  });
}

TensorId Builder::view(TensorId base, const Desc& desc, std::size_t first) {
  const Tensor of = tensor(base);
  const TensorId whole = root(base);
  const std::size_t shift = of.shift + first * gpu::size_of(of.desc.type);
  const TensorId id = place(of.home, tensor(whole).offset + shift, desc);
  plan_.tensors[static_cast<std::size_t>(id)].shift = shift;
  plan_.tensors[static_cast<std::size_t>(id)].base = whole;
  return id;
}

TensorId Builder::parameter(int number, std::vector<std::int32_t> order) {
  const auto n = static_cast<std::size_t>(number);
  const Node& node = nodes_[current_];
  std::size_t which = n - static_cast<std::size_t>(node.first_parameter);
  const LayerPlan* layer = node.layer;
  for (std::size_t k = 0; which >= layer->parameters.size(); ++k) {
    which -= layer->parameters.size();
    layer = node.over.at(k);
  }
  const Shape& shape = layer->parameters[which].shape;
  if (plan_.parameters.size() <= n) plan_.parameters.resize(n + 1);
  plan_.parameters[n].count = elements(shape);
  if (!order.empty())
    plan_.parameters[n].order = std::make_shared<const std::vector<std::int32_t>>(std::move(order));
  parameter_tensors_.resize(plan_.parameters.size(), -1);
  gradient_tensors_.resize(plan_.parameters.size(), -1);
  weight_tensors_.resize(plan_.parameters.size(), -1);
  // Offsets are known when all parameters are: finish() fills them in.
  const Desc flat{{elements(shape)}, Type::f32};
  parameter_tensors_[n] = place(Home::parameters, 0, flat);
  gradient_tensors_[n] = place(Home::gradients, 0, flat);
  return parameter_tensors_[n];
}

TensorId Builder::gradient(int number) {
  return gradient_tensors_[static_cast<std::size_t>(number)];
}

TensorId Builder::weights(int number, Type type) {
  const auto n = static_cast<std::size_t>(number);
  if (type == Type::f32) return parameter_tensors_[n];
  if (weight_tensors_[n] < 0)
    weight_tensors_[n] = place(Home::weights, 0, {desc(parameter_tensors_[n]).dims, type});
  plan_.bf16_weights = true;
  return weight_tensors_[n];
}

TensorId Builder::statistic(std::size_t offset, std::int64_t count) {
  return place(Home::statistics, offset * sizeof(float), {{count}, Type::f32});
}

TensorId Builder::running(std::size_t offset, std::int64_t count) {
  return place(Home::running, offset * sizeof(float), {{count}, Type::f32});
}

TensorId Builder::constant(const std::vector<float>& numbers) {
  const std::size_t first = round_up(plan_.constants.size(), alignment_floats);
  plan_.constants.resize(first + numbers.size());
  std::copy(numbers.begin(), numbers.end(),
            plan_.constants.begin() + static_cast<std::ptrdiff_t>(first));
  return place(Home::constants, first * sizeof(float),
               {{static_cast<std::int64_t>(numbers.size())}, Type::f32});
}

void Builder::use(TensorId id, int clock) {
  if (id < 0) return;
  Tensor& of = plan_.tensors[static_cast<std::size_t>(root(id))];
  const bool again = in_backward_ && of.segment >= 0;
  int& first = again ? of.first_again : of.first_use;
  if (first < 0) first = clock;
  (again ? of.last_again : of.last_use) = clock;
}

void Builder::add(Pass pass, Operation operation, const std::vector<TensorId>& tensors) {
  ++clock_;
  for (const TensorId id : tensors)
    use(id, clock_);
  operation.layer = nodes_[std::min(current_, nodes_.size() - 1)].layer->number;
  operation.tensors = tensors;
  if (pass == Pass::backward) {
    plan_.backward.push_back(std::move(operation));
    return;
  }
  if (pass != Pass::training) plan_.evaluation.push_back(operation);
  if (pass == Pass::evaluation) return;
  plan_.forward.push_back(std::move(operation));
  forward_segments_.push_back(segment_);
}

void Builder::kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel) {
  add(pass, {std::move(kernel), {}, -1}, tensors);
}

void Builder::loss_kernel(const std::vector<TensorId>& tensors, bool training, Kernel kernel) {
  ++clock_;
  for (const TensorId id : tensors)
    use(id, clock_);
  (training ? plan_.loss : plan_.evaluation_loss).push_back({std::move(kernel), {}, -1, tensors});
}

void Builder::loss_in_channels_last(TensorId from, TensorId to) {
  const Desc target = desc(to);
  const std::int64_t n = target.dims[0], c = target.dims[1], places = places_of(target.dims);
  loss_kernel({from, to}, true, [=](const Frame& frame) {
    transpose(frame.queue, n, c, places, Type::f32, frame.as<void>(from), target.type,
              frame.as<void>(to));
  });
}

void Builder::call(Pass pass, const std::shared_ptr<gpu::Call>& call,
                   const std::vector<TensorId>& tensors) {
  constexpr std::size_t most = 40;  // backward of four stacked LSTM layers has 37
  if (tensors.size() > most)
    throw std::logic_error(call->name() + " takes " + std::to_string(tensors.size()) +
                           " tensors, more than " + std::to_string(most));
  // Its size follows from the way that is chosen: finish() fills it in.
  const TensorId workspace = activation(Desc{{0}, Type::f32});
  if (plan_.calls.empty() || plan_.calls.back().call != call) {
    call->choose(choose_way(*call, kernels_));
    plan_.calls.push_back({call, tensors, pass == Pass::backward});
  }
  workspaces_.emplace_back(workspace, plan_.calls.size() - 1);
  std::vector<TensorId> touched = tensors;
  touched.push_back(workspace);
  Operation operation;
  operation.call = static_cast<int>(plan_.calls.size()) - 1;
  operation.kernel = [=](const Frame& frame) {
    void* pointers[most];
    for (std::size_t i = 0; i < tensors.size(); ++i)
      pointers[i] = frame.as<void>(tensors[i]);
    call->run(frame.queue, {pointers, tensors.size()}, frame.as<void>(workspace));
  };
  add(pass, std::move(operation), touched);
}

TensorId Builder::in_type(Pass pass, TensorId x, Type type) {
  const Desc from = desc(x);
  if (from.type == type) return x;
  const TensorId y = activation(from.dims, type);
  kernel(pass, {x, y}, [=](const Frame& frame) {
    convert(frame.queue, from.count(), from.type, frame.as<void>(x), type, frame.as<void>(y));
  });
  return y;
}

TensorId Builder::in_plain_order(Pass pass, TensorId x) {
  const Desc from = desc(x);
  const Shape flat{from.dims[0], from.count() / from.dims[0]};
  if (!from.images()) return view(x, {flat, from.type});
  const std::int64_t n = from.dims[0], c = from.dims[1], places = places_of(from.dims);
  if (c == 1 || places == 1) return view(x, {flat, from.type});
  const TensorId y = activation(flat, from.type);
  kernel(pass, {x, y}, [=](const Frame& frame) {
    transpose(frame.queue, n, places, c, from.type, frame.as<void>(x), from.type,
              frame.as<void>(y));
  });
  return y;
}

TensorId Builder::in_channels_last(Pass pass, TensorId x, const Shape& dims, Type type) {
  const Type from = desc(x).type;
  const std::int64_t n = dims[0], c = dims[1], places = places_of(dims);
  if (c == 1 || places == 1) return view(in_type(pass, x, type), {dims, type});
  const TensorId y = activation(dims, type);
  kernel(pass, {x, y}, [=](const Frame& frame) {
    transpose(frame.queue, n, c, places, from, frame.as<void>(x), type, frame.as<void>(y));
  });
  return y;
}

void Builder::add_input() {
  const Shape dims = batch_of(graph_.input, samples());
  const Shape flat{samples(), elements(graph_.input)};
  TensorId x = place(Home::input, 0, {flat, Type::f32});
  if (pads_input(nodes_, dims, type_)) {
    Shape wider = dims;
    wider[1] = padded_channels;
    const TensorId y = activation(wider, type_);
    kernel(Pass::both, {x, y}, [=](const Frame& frame) {
      pad_images(frame.queue, dims[0], dims[1], places_of(dims), frame.floats(x),
                 frame.as<Bf16>(y));
    });
    value(0).tensor = y;
    return;
  }
  if (dims.size() >= 4) {
    value(0).tensor = in_channels_last(Pass::both, x, dims, type_);
    return;
  }
  if (!takes_tokens(graph_)) x = in_type(Pass::both, x, type_);
  value(0).tensor = view(x, {dims, desc(x).type});
}

void Builder::add_forward(const Node& node) {
  Value& y = value(node.value);
  y.wants_gradient = !node.layer->parameters.empty();
  for (const int from : node.from)
    y.wants_gradient = y.wants_gradient || value(from).wants_gradient;
  inputs_.clear();
  for (const int from : node.from)
    inputs_.push_back(value(from).tensor);
  y.tensor = node.layer->kind->cuda(*this, node, input(0));
  if (segment_ < 0 || !crosses(nodes_, segments_, current_)) return;
  plan_.tensors[static_cast<std::size_t>(root(y.tensor))].segment = -1;
  keep(y.tensor);
}

Plan Builder::finish() {
  add_input();
  // Layers that are computed again must find the input as they found it first.
  if (std::any_of(segments_.begin(), segments_.end(), [](int s) { return s >= 0; }))
    keep(value(0).tensor);
  for (current_ = 0; current_ < nodes_.size(); ++current_) {
    segment_ = segments_[current_];
    add_forward(nodes_[current_]);
  }
  segment_ = -1;
  add_loss();
  in_backward_ = true;
  int computed = -1;
  for (current_ = nodes_.size(); current_-- > 0;) {
    if (value(nodes_[current_].value).wants_gradient && segments_[current_] != computed) {
      computed = segments_[current_];
      compute_again(computed);
    }
    add_backward(nodes_[current_]);
  }
  place_parameters_and_arena();
  return std::move(plan_);
}

void Builder::place_parameters_and_arena() {
  for (const auto& [tensor, number] : workspaces_) {
    const gpu::Call& call = *plan_.calls[number].call;
    const std::size_t bytes = round_up(call.workspace(call.chosen()), sizeof(float));
    plan_.tensors[static_cast<std::size_t>(tensor)].desc.dims = {
        static_cast<std::int64_t>(bytes / sizeof(float))};
    plan_.workspace_bytes = std::max(plan_.workspace_bytes, bytes);
  }
  std::vector<std::size_t> counts;
  for (const Parameter& parameter : plan_.parameters)
    counts.push_back(static_cast<std::size_t>(parameter.count));
  const auto infos = place_parameters(graph_, counts);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    for (const TensorId id : {parameter_tensors_[i], gradient_tensors_[i]})
      plan_.tensors[static_cast<std::size_t>(id)].offset = infos[i].offset * sizeof(float);
    if (weight_tensors_[i] >= 0)
      plan_.tensors[static_cast<std::size_t>(weight_tensors_[i])].offset =
          infos[i].offset * sizeof(Bf16);
  }
  std::vector<Lifetime> lives;
  std::vector<std::size_t*> places;
  for (Tensor& t : plan_.tensors) {
    if (t.home != Home::arena || t.base >= 0) continue;
    const std::size_t bytes = round_up(t.desc.bytes(), 256);
    const auto live = [&](int first, int last, std::size_t& place) {
      if (first < 0) return;
      lives.push_back({bytes, first, last});
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
      const Tensor& base = plan_.tensors[static_cast<std::size_t>(t.base)];
      t.offset = base.offset + t.shift;
      t.again = base.again + t.shift;
    }
  plan_.arena_bytes = memory.bytes;
}

}  // namespace thalweg::engine::cuda
