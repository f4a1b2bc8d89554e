#include "engine/device/cuda/builder.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/device/cuda/kernel_choice.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/padded_channels.h"
#include "engine/device/graph/builder_functions.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine {

template class GraphBuilder<cuda::Plan>;

namespace cuda {
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

Builder::Builder(gpu::Stream& stream, const Graph& graph, int samples,
                 const CompileOptions& options)
    : GraphBuilder(graph, samples, joins, options.recompute),
      stream_(stream),
      type_(options.precision == Precision::bf16 ? Type::bf16 : Type::f32),
      products_(options.precision == Precision::fp32 ? gpu::Products::fp32 : gpu::Products::tf32),
      kernels_(options.kernels) {}

Type Builder::output_type() const {
  return is_last() ? logits_type() : type_;
}

Type Builder::logits_type() const {
  constexpr int many = 4096;  // as many bytes as all else together in a language model
  const bool takes = graph_.loss.kind->any_logits && graph_.loss.data.classes >= many;
  return takes ? type_ : Type::f32;
}

TensorId Builder::scratch(std::int64_t count, std::size_t bytes) {
  const std::int64_t floats = (count * static_cast<std::int64_t>(bytes) + 3) / 4;
  return activation(Desc{{floats}, Type::f32});
}

TensorId Builder::view(TensorId base, const Desc& desc, std::size_t first) {
  return view_of(base, desc, first * gpu::size_of(tensor(base).desc.type));
}

TensorId Builder::parameter(int number, std::vector<std::int32_t> order) {
  const auto n = static_cast<std::size_t>(number);
  const Node& node = current();
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
  weight_tensors_.resize(plan_.parameters.size(), -1);
  return place_parameter(number, {{elements(shape)}, Type::f32});
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

void Builder::kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel) {
  add(pass, {std::move(kernel), {}, -1, tensors}, tensors);
}

void Builder::loss_kernel(const std::vector<TensorId>& tensors, bool training, Kernel kernel) {
  touch(tensors);
  (training ? plan_.loss : plan_.evaluation_loss).push_back({std::move(kernel), {}, -1, tensors});
}

void Builder::loss_in_channels_last(TensorId from, TensorId to) {
  const Desc target = desc(to);
  const std::int64_t n = target.dims[0], c = target.dims[1], places = places_of(target.dims);
  loss_kernel({from, to}, true, [=](const Frame& frame) {
    transpose(frame.stream, n, c, places, Type::f32, frame.as<void>(from), target.type,
              frame.as<void>(to));
  });
}

void Builder::call(Pass pass, const std::shared_ptr<gpu::Call>& call,
                   const std::vector<TensorId>& tensors) {
  constexpr std::size_t most = 40;  // backward of four stacked LSTM layers has 37
  if (tensors.size() > most)
    throw std::logic_error(call->name() + " takes " + std::to_string(tensors.size()) +
                           " tensors, more than " + std::to_string(most));
  // Its size follows from the algorithm that is chosen: finish() fills it in.
  const TensorId workspace = activation(Desc{{0}, Type::f32});
  if (plan_.calls.empty() || plan_.calls.back().call != call) {
    call->choose(choose_algorithm(*call, kernels_));
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
    call->run(frame.stream, {pointers, tensors.size()}, frame.as<void>(workspace));
  };
  operation.tensors = touched;
  add(pass, std::move(operation), touched);
}

TensorId Builder::in_type(Pass pass, TensorId x, Type type) {
  const Desc from = desc(x);
  if (from.type == type) return x;
  const TensorId y = activation(from.dims, type);
  kernel(pass, {x, y}, [=](const Frame& frame) {
    convert(frame.stream, from.count(), from.type, frame.as<void>(x), type, frame.as<void>(y));
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
    transpose(frame.stream, n, places, c, from.type, frame.as<void>(x), from.type,
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
    transpose(frame.stream, n, c, places, from, frame.as<void>(x), type, frame.as<void>(y));
  });
  return y;
}

TensorId Builder::add_input() {
  const Shape dims = batch_of(graph_.input, samples());
  const Shape flat{samples(), elements(graph_.input)};
  TensorId x = place(Home::input, 0, {flat, Type::f32});
  if (pads_input(nodes_, dims, type_)) {
    Shape wider = dims;
    wider[1] = padded_channels;
    const TensorId y = activation(wider, type_);
    kernel(Pass::both, {x, y}, [=](const Frame& frame) {
      pad_images(frame.stream, dims[0], dims[1], places_of(dims), frame.floats(x),
                 frame.as<Bf16>(y));
    });
    return y;
  }
  if (dims.size() >= 4) return in_channels_last(Pass::both, x, dims, type_);
  if (!takes_tokens(graph_)) x = in_type(Pass::both, x, type_);
  return view(x, {dims, desc(x).type});
}

TensorId Builder::add_layer(const Node& node, TensorId x) {
  return node.layer->kind->cuda(*this, node, x);
}

std::size_t Builder::bytes_of(const Tensor& tensor) const {
  return round_up(tensor.desc.bytes(), 256);
}

std::size_t Builder::floats_of(const Parameter& parameter) const {
  return static_cast<std::size_t>(parameter.count);
}

void Builder::place_workspaces() {
  for (const auto& [tensor, number] : workspaces_) {
    const gpu::Call& call = *plan_.calls[number].call;
    const std::size_t bytes = round_up(call.workspace(call.chosen()), sizeof(float));
    at(tensor).desc.dims = {static_cast<std::int64_t>(bytes / sizeof(float))};
    plan_.workspace_bytes = std::max(plan_.workspace_bytes, bytes);
  }
}

Plan Builder::finish() {
  add_all();
  place_workspaces();
  place_parameters_and_gradients();
  for (std::size_t i = 0; i < plan_.infos.size(); ++i)
    if (weight_tensors_[i] >= 0)
      at(weight_tensors_[i]).offset = plan_.infos[i].offset * sizeof(Bf16);
  place_arena();
  return std::move(plan_);
}

}  // namespace cuda
}  // namespace thalweg::engine
