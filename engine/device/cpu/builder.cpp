#include "engine/device/cpu/builder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/device/cpu/interleave.h"
#include "engine/device/cpu/types.h"
#include "engine/device/graph/builder_functions.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine {

template class GraphBuilder<cpu::Plan>;

namespace cpu {
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
    : GraphBuilder(graph, samples, joins), type_(precision == Precision::bf16 ? bf16 : f32) {}

Type Builder::output_type() const {
  return is_last() ? f32 : type_;
}

TensorId Builder::bytes(std::size_t count) {
  return activation(Desc({static_cast<std::int64_t>(count)}, dnnl::memory::data_type::u8, Tag::a));
}

TensorId Builder::like(TensorId x) {
  const TensorId y = activation(desc(x));
  at(y).order = tensor(x).order;
  return y;
}

TensorId Builder::copy_of(TensorId dy) {
  const TensorId copy = like(dy);
  const std::size_t bytes = desc(dy).get_size();
  kernel(Pass::backward, {dy, copy},
         [=](const Frame& frame) { std::copy_n(frame.bytes(dy), bytes, frame.bytes(copy)); });
  return copy;
}

TensorId Builder::view(TensorId base, const Desc& desc, Order order, std::size_t first) {
  const TensorId id = view_of(base, desc, first * size_of(type_of(tensor(base).desc)));
  at(id).order = std::move(order);
  return id;
}

TensorId Builder::parameter(int number, const Desc& desc, const Desc& plain, Order order) {
  const auto n = static_cast<std::size_t>(number);
  plan_.parameters.resize(std::max(plan_.parameters.size(), n + 1));
  plan_.parameters[n] = {desc, plain, std::move(order)};
  return place_parameter(number, desc);
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

void Builder::kernel(Pass pass, const std::vector<TensorId>& tensors, Kernel kernel) {
  Operation operation;
  for (const TensorId id : tensors)
    operation.arguments.emplace_back(0, id);
  operation.kernel = std::move(kernel);
  add(pass, std::move(operation), tensors);
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
  at(y).order = tensor(x).order;
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

void Builder::add_in_place(TensorId a, TensorId b) {
  const TensorId from = in_layout(Pass::backward, b, desc(a));
  const std::size_t count = count_of(desc(a));
  with_type(type_of(desc(a)), [&](auto zero) {
    using T = decltype(zero);
    kernel(Pass::backward, {from, a},
           [=](const Frame& frame) { add_to(frame.as<T>(from), count, frame.as<T>(a)); });
  });
}

TensorId Builder::add_input() {
  return place(Home::input, 0, plain_batch(graph_.input, samples()));
}

TensorId Builder::add_layer(const Node& node, TensorId x) {
  return node.layer->kind->cpu(*this, node, x);
}

TensorId Builder::add_loss(TensorId x) {
  plan_.output = in_layout(Pass::both, in_plain_order(Pass::both, x),
                           plain_batch(graph_.layers.back().out, samples()));
  plan_.output_gradient = activation(desc(plan_.output));
  touch({plan_.output, plan_.output_gradient});
  return out_of_plain_order(plan_.output_gradient, x);
}

TensorId Builder::as_input(const Node& node, TensorId x) {
  return node.layer->kind->floats_on_cpu ? in_type(Pass::both, x, f32) : x;
}

TensorId Builder::as_gradient(const Node&, TensorId dy, TensorId y) {
  return type_of(desc(dy)) == type_of(desc(y)) ? dy : in_layout(Pass::backward, dy, desc(y));
}

std::size_t Builder::floats_of(const Parameter& parameter) const {
  return parameter.desc.get_size() / sizeof(float);
}

Plan Builder::finish() {
  add_all();
  place_parameters_and_gradients();
  place_arena();
  return std::move(plan_);
}

void add_matmul(Builder& b, Builder::Pass pass, TensorId left, TensorId right, TensorId result) {
  b.primitive(pass, forward(Matmul{b.desc(left), b.desc(right), b.desc(result)}),
              {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
}

}  // namespace cpu
}  // namespace thalweg::engine
