// linear on oneDNN's inner product, bias and a following relu joined. Images that were flattened
// are taken as they lie in memory: the weights' inputs are in that order instead, so flattening
// costs nothing. Positions of a sequence are rows like samples.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/layer.h"
#include "engine/device/cpu/relu.h"
#include "engine/device/cpu/rows.h"
#include "engine/device/cpu/window_dims.h"

namespace thalweg::engine::cpu {

TensorId linear(Builder& b, const Node& node, TensorId given) {
  const bool sequence = node.layer->in.size() == 2;
  const std::int64_t outputs = node.layer->out.back();
  const TensorId x = sequence ? as_rows(b, Builder::Pass::both, given) : given;
  const std::int64_t rows = dims_of(b.desc(x))[0];
  const std::int64_t inputs = dims_of(b.desc(x))[1];  // padding of flattened images included
  const bool bias = node.layer->parameters.size() > 1;
  const int weight = node.first_parameter;
  const bool wants_dx = b.wants_input_gradient();
  const Desc any({outputs, inputs}, f32, Tag::any), row({outputs}, f32, Tag::a);
  const InnerProduct shape{b.desc(x), any, bias ? row : Desc(),
                           Desc({rows, outputs}, f32, Tag::ab)};
  const auto pd = forward(shape, node.relu);
  const TensorId w = b.parameter(weight, pd.weights_desc(), Desc({outputs, inputs}, f32, Tag::ab),
                                 b.tensor(x).order);
  const TensorId y = b.activation(shape.dst);
  Arguments arguments{{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
  if (bias) arguments.emplace_back(DNNL_ARG_BIAS, b.parameter(weight + 1, row, row));
  b.primitive(Builder::Pass::both, pd, arguments);

  b.on_backward([=, &b](TensorId dy) {
    const auto with_weights = [&](const Desc& layout) {
      return InnerProduct{shape.src, layout, shape.bias, shape.dst};
    };
    if (sequence) dy = as_rows(b, Builder::Pass::backward, dy);
    if (node.relu) dy = add_relu_backward(b, y, dy);
    const auto pdw = prefer_layout(
        [&](const Desc& layout) { return backward_weights(with_weights(layout), pd); }, any,
        b.desc(w), [](const auto& p) { return p.diff_weights_desc(); });
    add_backward_weights(b, pdw, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}}, weight,
                         bias ? weight + 1 : -1);
    if (!wants_dx) return dy;
    const auto pdd =
        prefer_layout([&](const Desc& layout) { return backward_data(with_weights(layout), pd); },
                      any, b.desc(w), [](const auto& p) { return p.weights_desc(); });
    const TensorId dx = b.activation(pdd.diff_src_desc());
    const TensorId w_back = b.in_layout(Builder::Pass::backward, w, pdd.weights_desc());
    b.primitive(Builder::Pass::backward, pdd,
                {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w_back}, {DNNL_ARG_DIFF_SRC, dx}});
    return sequence ? b.view(dx, plain_desc(dims_of(b.desc(given))), nullptr) : dx;
  });
  return sequence ? b.view(y, plain_desc(batch_of(node.layer->out, b.samples())), nullptr) : y;
}

}  // namespace thalweg::engine::cpu
