// linear on oneDNN's inner product, bias and a following relu joined. Images that were flattened
// are taken as they lie in memory: the weights' inputs are in that order instead, so flattening
// costs nothing. Positions of a sequence are rows like samples.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/rows.h"
#include "engine/device/cpu/window_dims.h"
#include "engine/layers/relu/cpu_backward.h"

namespace thalweg::engine::cpu {

TensorId linear(Builder& b, const Node& node, TensorId given) {
  const bool sequence = node.layer->in.size() == 2;
  const std::int64_t outputs = node.layer->out.back();
  const Type type = b.type();
  const TensorId x = sequence ? as_rows(b, Builder::Pass::both, given, type)
                              : b.in_type(Builder::Pass::both, given, type);
  const std::int64_t rows = dims_of(b.desc(x))[0];
  const std::int64_t inputs = dims_of(b.desc(x))[1];  // padding of flattened images included
  const bool bias = node.layer->parameters.size() > 1;
  const int weight = node.first_parameter;
  const bool wants_dx = b.wants_input_gradient();
  const Desc any({outputs, inputs}, type, Tag::any), row({outputs}, f32, Tag::a);
  const Desc any_gradient({outputs, inputs}, f32, Tag::any);
  const auto shape = [=, src = b.desc(x)](const Desc& weights, Type result) {
    return InnerProduct{src, weights, bias ? row : Desc(), Desc({rows, outputs}, result, Tag::ab)};
  };
  const auto pd = forward(shape(any, b.output_type()), node.relu);
  const auto weights_back = [=](const Desc& w) { return backward_weights(shape(w, type), pd); };
  const Desc own = type == f32 ? pd.weights_desc() : weights_back(any_gradient).diff_weights_desc();
  b.parameter(weight, own, Desc({outputs, inputs}, f32, Tag::ab), b.tensor(x).order);
  const TensorId w = b.weights(weight, pd.weights_desc());
  const TensorId y = b.activation(pd.dst_desc());
  Arguments arguments{{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
  if (bias) arguments.emplace_back(DNNL_ARG_BIAS, b.parameter(weight + 1, row, row));
  b.primitive(Builder::Pass::both, pd, arguments);

  b.on_backward([=, &b](TensorId dy) {
    if (sequence) dy = as_rows(b, Builder::Pass::backward, dy, type_of(b.desc(dy)));
    if (node.relu) dy = add_relu_backward(b, y, dy);
    dy = b.in_type(Builder::Pass::backward, dy, type);
    const auto pdw = prefer_layout(weights_back, any_gradient, own,
                                   [](const auto& p) { return p.diff_weights_desc(); });
    add_backward_weights(b, pdw, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}}, weight,
                         bias ? weight + 1 : -1);
    if (!wants_dx) return dy;
    const auto pdd =
        prefer_layout([&](const Desc& layout) { return backward_data(shape(layout, type), pd); },
                      any, b.desc(w), [](const auto& p) { return p.weights_desc(); });
    const TensorId dx = b.activation(pdd.diff_src_desc());
    const TensorId w_back = b.weights(weight, pdd.weights_desc());
    b.primitive(Builder::Pass::backward, pdd,
                {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w_back}, {DNNL_ARG_DIFF_SRC, dx}});
    return sequence ? b.view(dx, plain_desc(dims_of(b.desc(given)), type), nullptr) : dx;
  });
  return sequence ? b.view(y, plain_desc(batch_of(node.layer->out, b.samples()), b.output_type()),
                           nullptr)
                  : y;
}

}  // namespace thalweg::engine::cpu
