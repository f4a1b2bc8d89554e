// conv2d and conv3d on oneDNN's convolution in its own blocked layouts, bias and a following relu
// joined, or by kernels of our own in the same layouts where those are faster; conv_transpose2d and
// conv_transpose3d on its deconvolution.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/window_dims.h"
#include "engine/layers/conv/cpu_blocked.h"
#include "engine/layers/conv/cpu_narrow.h"
#include "engine/layers/conv/cpu_stem.h"
#include "engine/layers/conv/cpu_winograd.h"
#include "engine/layers/conv/options.h"
#include "engine/layers/relu/cpu_backward.h"

namespace thalweg::engine::cpu {
namespace {

const ConvOptions& options_of(const Node& node) {
  return node.layer->options_as<ConvOptions>();
}

/// From this many input channels on, oneDNN may use Winograd's algorithm for 3x3 windows (Lavin and
/// Gray, CVPR 2016): fewer multiplications, and errors still near 1e-6 of the result's norm. Below,
/// its transforms cost more.
constexpr std::int64_t winograd_channels = 16;

dnnl::algorithm algorithm_for(const Node& node, const Window& w, Type type) {
  return type == f32 && options_of(node).algorithm != ConvAlgorithm::direct && w.directions == 2 &&
                 w.kernel[2] == 3 && w.stride[2] == 1 && w.channels >= winograd_channels
             ? dnnl::algorithm::convolution_auto
             : dnnl::algorithm::convolution_direct;
}

/// Whether the layouts are those of the kernel for few input channels.
bool narrow_fits(const Builder& b, TensorId x, TensorId weights, TensorId dy) {
  return b.desc(x) == plain_desc(dims_of(b.desc(x))) &&
         b.desc(dy) == Desc(dims_of(b.desc(dy)), f32, Tag::aBcde16b) &&
         b.desc(weights) == Desc(dims_of(b.desc(weights)), f32, Tag::Acdeb16a);
}

void add_narrow_backward_weights(Builder& b, const NarrowConv& shape, TensorId x, TensorId dy,
                                 int weight, bool bias) {
  const TensorId dw = b.gradient(weight), db = bias ? b.gradient(weight + 1) : -1;
  const TensorId scratch = b.bytes(narrow_scratch_floats(shape) * sizeof(float));
  std::vector<TensorId> touched{x, dy, dw, scratch};
  if (bias) touched.push_back(db);
  b.kernel(Builder::Pass::backward, touched, [=](const Frame& frame) {
    narrow_backward_weights(shape, frame.floats(x), frame.floats(dy), frame.floats(dw),
                            bias ? frame.floats(db) : nullptr, frame.floats(scratch));
  });
  b.ready(weight);
  if (bias) b.ready(weight + 1);
}

/// Whether the layouts are those of the kernel for blocks of channels, and oneDNN's makes a matrix
/// of all windows.
template <class PrimitiveDesc>
bool blocked_pays(const Builder& b, const PrimitiveDesc& oneDnns, TensorId x, TensorId weights,
                  TensorId dy) {
  const auto blocks = [&](TensorId id, Tag images, Tag volumes) {
    const Dims dims = dims_of(b.desc(id));
    return b.desc(id) == Desc(dims, f32, dims.size() == 5 ? volumes : images);
  };
  return std::string(oneDnns.impl_info_str()).find("gemm") != std::string::npos &&
         blocks(x, Tag::aBcd16b, Tag::aBcde16b) && blocks(dy, Tag::aBcd16b, Tag::aBcde16b) &&
         blocks(weights, Tag::ABcd16b16a, Tag::ABcde16b16a);
}

void add_blocked_backward_weights(Builder& b, const BlockedConv& shape, TensorId x, TensorId dy,
                                  int weight, bool bias) {
  const TensorId dw = b.gradient(weight), db = bias ? b.gradient(weight + 1) : -1;
  std::vector<TensorId> touched{x, dy, dw};
  if (bias) touched.push_back(db);
  b.kernel(Builder::Pass::backward, touched, [=](const Frame& frame) {
    blocked_backward_weights(shape, frame.floats(x), frame.floats(dy), frame.floats(dw),
                             bias ? frame.floats(db) : nullptr);
  });
  b.ready(weight);
  if (bias) b.ready(weight + 1);
}

/// The same with bf16 values, for which it pays where windows are wider than the input.
bool blocked_pays(const Builder& b, const BlockedConv& shape, TensorId x, TensorId weights,
                  TensorId dy) {
  const Dims dims = dims_of(b.desc(weights));
  const Tag blocks = dims.size() == 5 ? Tag::ABcde16b16a : Tag::ABcd16b16a;
  return type_of(b.desc(x)) == bf16 && type_of(b.desc(dy)) == bf16 &&
         wider_than_input(shape.window) && channel_tag(b.desc(x)) && channel_tag(b.desc(dy)) &&
         b.desc(weights) == Desc(dims, f32, blocks);
}

/// Of bf16 values, as floats in blocks.
TensorId in_float_blocks(Builder& b, TensorId x) {
  const Dims dims = dims_of(b.desc(x));
  const TensorId y = b.activation(Desc(dims, f32, dims.size() == 5 ? Tag::aBcde16b : Tag::aBcd16b));
  const auto pixels = static_cast<std::int64_t>(count_of(b.desc(x))) / (dims[0] * dims[1]);
  const bool last = innermost(*channel_tag(b.desc(x)));
  b.kernel(Builder::Pass::backward, {x, y}, [=](const Frame& frame) {
    floats_in_blocks(frame.as<Bf16>(x), dims[0], dims[1], pixels, last, frame.floats(y));
  });
  return y;
}

/// Kernels of our own for the weights' gradient, where they serve.
struct OwnKernels {
  std::optional<NarrowConv> narrow;
  std::optional<BlockedConv> blocked;
};

/// `given` lacks weights and bias; `plain` is the layout of the checkpoint's weights.
template <class Shape>
TensorId convolve(Builder& b, const Node& node, TensorId x, const Shape& given, const Desc& plain,
                  const OwnKernels& own_kernels = {}) {
  const bool bias = node.layer->parameters.size() > 1;
  const int weight = node.first_parameter;
  const bool wants_dx = b.wants_input_gradient();
  const Desc any(dims_of(plain), b.type(), Tag::any), row({node.layer->out[0]}, f32, Tag::a);
  const Desc any_gradient(dims_of(plain), f32, Tag::any);
  const auto shape = [=](const Desc& layout, Type result) {
    Shape s = given;
    s.weights = layout;
    if (bias) s.bias = row;
    s.dst = Desc(dims_of(given.dst), result, Tag::any);
    return s;
  };
  const auto pd = forward(shape(any, b.output_type()), node.relu);
  const auto weights_back = [=, type = b.type()](const Desc& w) {
    return backward_weights(shape(w, type), pd);
  };
  const TensorId src = b.in_layout(Builder::Pass::both, x, pd.src_desc());
  const Desc own =
      b.type() == f32 ? pd.weights_desc() : weights_back(any_gradient).diff_weights_desc();
  b.parameter(weight, own, plain);
  const TensorId weights = b.weights(weight, pd.weights_desc());
  const TensorId y = b.activation(pd.dst_desc());
  Arguments arguments{{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, y}};
  if (bias) arguments.emplace_back(DNNL_ARG_BIAS, b.parameter(weight + 1, row, row));
  b.primitive(Builder::Pass::both, pd, arguments);

  b.on_backward([=, &b](TensorId dy) {
    if (node.relu && !node.relu_masked_by_next) dy = add_relu_backward(b, y, dy);
    const auto pdw = prefer_layout(weights_back, any_gradient, own,
                                   [](const auto& p) { return p.diff_weights_desc(); });
    const auto& [narrow, blocked] = own_kernels;
    if (narrow && narrow_fits(b, src, b.gradient(weight), dy)) {
      add_narrow_backward_weights(b, *narrow, src, dy, weight, bias);
    } else if (blocked && blocked_pays(b, pdw, src, b.gradient(weight), dy)) {
      add_blocked_backward_weights(b, *blocked, src, dy, weight, bias);
    } else if (blocked && blocked_pays(b, *blocked, src, b.gradient(weight), dy)) {
      const TensorId x_blocks = in_float_blocks(b, src);
      add_blocked_backward_weights(b, *blocked, x_blocks, in_float_blocks(b, dy), weight, bias);
    } else {
      const TensorId src_w = b.in_layout(Builder::Pass::backward, src, pdw.src_desc());
      const TensorId dy_w = b.in_layout(Builder::Pass::backward, dy, pdw.diff_dst_desc());
      add_backward_weights(b, pdw, {{DNNL_ARG_SRC, src_w}, {DNNL_ARG_DIFF_DST, dy_w}}, weight,
                           bias ? weight + 1 : -1);
    }
    if (!wants_dx) return dy;
    const auto pdd = prefer_layout(
        [&](const Desc& layout) { return backward_data(shape(layout, b.type()), pd); }, any,
        b.desc(weights), [](const auto& p) { return p.weights_desc(); });
    const TensorId w_d = b.weights(weight, pdd.weights_desc());
    const TensorId dy_d = b.in_layout(Builder::Pass::backward, dy, pdd.diff_dst_desc());
    const TensorId dx = b.activation(pdd.diff_src_desc());
    b.primitive(Builder::Pass::backward, pdd,
                {{DNNL_ARG_DIFF_DST, dy_d}, {DNNL_ARG_WEIGHTS, w_d}, {DNNL_ARG_DIFF_SRC, dx}});
    return dx;
  });
  return y;
}

/// Whether oneDNN's gradient of the weights may go wrong in its own layouts: seen in 2.6.3 for
/// windows of 6 and more over volumes hardly longer, padded by 3 and more.
bool overlaps_both_ends(const Window& w) {
  return w.directions == 3 && w.padding[2] >= 3 &&
         *std::min_element(w.in.begin(), w.in.end()) < 2 * w.kernel[2];
}

/// Of the sizes of a batch before and after; any layout that works.
Convolution between(const Dims& in, const Dims& out, const Window& w, dnnl::algorithm algorithm,
                    Type type) {
  const Tag layout = overlaps_both_ends(w) ? Tag::abcde : Tag::any;
  const Desc src(in, type, layout), dst(out, type, layout);
  return {algorithm, src, {}, {}, dst, dims_of(w), {}};
}

/// Empty where the kernels of our own do not serve or do not pay.
std::optional<Winograd> winograd_of(const Builder& b, const Node& node, const Window& w) {
  if (b.type() != f32 || w.directions != 2 || w.kernel[2] != 3 || w.stride[2] != 1) return {};
  const Winograd shape{b.samples(), w.channels, node.layer->out[0], w.in[1], w.in[2], w.padding[2]};
  const ConvAlgorithm wanted = options_of(node).algorithm;
  if (wanted == ConvAlgorithm::direct ||
      (wanted == ConvAlgorithm::automatic && !winograd_pays(shape)))
    return {};
  if (!serves_winograd(shape)) return {};
  return shape;
}

TensorId convolve(Builder& b, const Node& node, TensorId given, const Winograd& w) {
  using Pass = Builder::Pass;
  const int weight = node.first_parameter;
  const bool bias = node.layer->parameters.size() > 1, wants_dx = b.wants_input_gradient();
  const Dims kernel = node.layer->parameters[0].shape;
  const Desc out(batch_of(node.layer->out, b.samples()), f32, Tag::aBcd16b);
  const Desc in(batch_of(node.layer->in, b.samples()), f32, Tag::aBcd16b),
      row({w.out}, f32, Tag::a);
  const std::size_t scratch_bytes = winograd_scratch_floats(w) * sizeof(float);
  const TensorId x = b.in_layout(Pass::both, given, in);
  const TensorId weights =
      b.parameter(weight, Desc(kernel, f32, Tag::ABcd16b16a), plain_desc(kernel));
  const TensorId biases = bias ? b.parameter(weight + 1, row, row) : -1;
  const auto touched = [bias](std::vector<TensorId> tensors, TensorId of_bias) {
    if (bias) tensors.push_back(of_bias);
    return tensors;
  };
  const TensorId y = b.activation(out), scratch = b.bytes(scratch_bytes);
  b.kernel(Pass::both, touched({x, weights, y, scratch}, biases), [=](const Frame& frame) {
    winograd_forward(w, frame.floats(x), frame.floats(weights),
                     bias ? frame.floats(biases) : nullptr, node.relu, frame.floats(y),
                     frame.floats(scratch));
  });

  b.on_backward([=, &b](TensorId dy) {
    if (node.relu && !node.relu_masked_by_next) dy = add_relu_backward(b, y, dy);
    dy = b.in_layout(Pass::backward, dy, out);
    const TensorId dw = b.gradient(weight), db = bias ? b.gradient(weight + 1) : -1;
    const TensorId dw_scratch = b.bytes(scratch_bytes);
    b.kernel(Pass::backward, touched({x, dy, dw, dw_scratch}, db), [=](const Frame& frame) {
      winograd_backward_weights(w, frame.floats(x), frame.floats(dy), frame.floats(dw),
                                bias ? frame.floats(db) : nullptr, frame.floats(dw_scratch));
    });
    b.ready(weight);
    if (bias) b.ready(weight + 1);
    if (!wants_dx) return dy;
    const TensorId dx = b.activation(in), dx_scratch = b.bytes(scratch_bytes);
    b.kernel(Pass::backward, {dy, weights, dx, dx_scratch}, [=](const Frame& frame) {
      winograd_backward_data(w, frame.floats(dy), frame.floats(weights), frame.floats(dx),
                             frame.floats(dx_scratch));
    });
    return dx;
  });
  return y;
}

/// Whether convolutions over values like these, of the batch's sizes, want channels innermost.
bool innermost_pays(const Dims& values) {
  const std::int64_t channels = values[1];
  const Desc any(values, bf16, Tag::any), weights({channels, channels, 3, 3}, bf16, Tag::any);
  const Convolution next{
      dnnl::algorithm::convolution_direct, any, weights, {}, any, {{3, 3}, {1, 1}, {1, 1}}, {1, 1}};
  return forward(next, false).src_desc() == Desc(values, bf16, Tag::acdb);
}

/// Empty where the kernels of our own do not serve or do not pay.
std::optional<StemConv> stem_of(const Builder& b, const Node& node, TensorId x, const Window& w) {
  const Dims out = batch_of(node.layer->out, b.samples());
  if (b.type() != bf16 || b.output_type() != bf16 || b.wants_input_gradient()) return {};
  if (b.desc(x) != plain_desc(dims_of(b.desc(x))) || !serves_stem(w, out[1])) return {};
  return StemConv{w, b.samples(), out[1], innermost_pays(out)};
}

TensorId convolve(Builder& b, const Node& node, TensorId x, const StemConv& c) {
  using Pass = Builder::Pass;
  const int weight = node.first_parameter;
  const bool bias = node.layer->parameters.size() > 1;
  const Dims kernel = node.layer->parameters[0].shape;
  const Desc out(batch_of(node.layer->out, b.samples()), bf16,
                 c.innermost ? Tag::acdb : Tag::aBcd16b),
      row({c.outputs}, f32, Tag::a);
  const std::size_t scratch_bytes = stem_scratch_floats(c) * sizeof(float);
  const TensorId weights = b.parameter(weight, Desc(kernel, f32, Tag::Acdb16a), plain_desc(kernel));
  const TensorId biases = bias ? b.parameter(weight + 1, row, row) : -1;
  const TensorId y = b.activation(out), scratch = b.bytes(scratch_bytes);
  std::vector<TensorId> touched{x, weights, y, scratch};
  if (bias) touched.push_back(biases);
  b.kernel(Pass::both, touched, [=](const Frame& frame) {
    stem_forward(c, frame.floats(x), frame.floats(weights), bias ? frame.floats(biases) : nullptr,
                 node.relu, frame.as<Bf16>(y), frame.floats(scratch));
  });

  b.on_backward([=, &b](TensorId dy) {
    if (node.relu && !node.relu_masked_by_next) dy = add_relu_backward(b, y, dy);
    dy = b.in_layout(Pass::backward, dy, out);
    const TensorId dw = b.gradient(weight), db = bias ? b.gradient(weight + 1) : -1;
    const TensorId dw_scratch = b.bytes(scratch_bytes);
    std::vector<TensorId> back{x, dy, dw, dw_scratch};
    if (bias) back.push_back(db);
    b.kernel(Pass::backward, back, [=](const Frame& frame) {
      stem_backward_weights(c, frame.floats(x), frame.as<Bf16>(dy), frame.floats(dw),
                            bias ? frame.floats(db) : nullptr, frame.floats(dw_scratch));
    });
    b.ready(weight);
    if (bias) b.ready(weight + 1);
    return dy;
  });
  return y;
}

TensorId conv(Builder& b, const Node& node, TensorId x) {
  const Window& w = options_of(node).window;
  if (const auto winograd = winograd_of(b, node, w)) return convolve(b, node, x, *winograd);
  if (const auto stem = stem_of(b, node, x, w)) return convolve(b, node, x, *stem);
  const Dims in = batch_of(node.layer->in, b.samples()),
             out = batch_of(node.layer->out, b.samples());
  Convolution shape = between(in, out, w, algorithm_for(node, w, b.type()), b.type());
  shape.far = far_padding(shape.window, in, out);
  OwnKernels own;
  if (serves_narrow(w, out[1])) own.narrow = {w, b.samples(), out[1] / 16};
  if (serves_blocked(w, out[1])) own.blocked = {w, b.samples(), out[1]};
  return convolve(b, node, x, shape, plain_desc(node.layer->parameters[0].shape), own);
}

TensorId conv_transpose(Builder& b, const Node& node, TensorId x) {
  const Window& w = options_of(node).window;
  const Dims in = batch_of(node.layer->in, b.samples()),
             out = batch_of(node.layer->out, b.samples());
  Deconvolution shape{between(in, out, w, dnnl::algorithm::deconvolution_direct, b.type())};
  shape.far = far_padding(shape.window, out, in);
  Dims kernel = node.layer->parameters[0].shape;  // (in, out, ...); oneDNN says (out, in, ...)
  std::swap(kernel[0], kernel[1]);
  return convolve(b, node, x, shape, Desc(kernel, f32, w.directions == 3 ? Tag::bacde : Tag::bacd));
}

}  // namespace

TensorId conv2d(Builder& b, const Node& node, TensorId x) {
  return conv(b, node, x);
}

TensorId conv3d(Builder& b, const Node& node, TensorId x) {
  return conv(b, node, x);
}

TensorId conv_transpose2d(Builder& b, const Node& node, TensorId x) {
  return conv_transpose(b, node, x);
}

TensorId conv_transpose3d(Builder& b, const Node& node, TensorId x) {
  return conv_transpose(b, node, x);
}

}  // namespace thalweg::engine::cpu
