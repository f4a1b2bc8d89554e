// max_pool and avg_pool of images (2d) and volumes (3d) on oneDNN's pooling; max keeps the place of
// each largest element as a workspace. Max pools whose windows do not overlap have kernels of our
// own.
#include <optional>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/types.h"
#include "engine/device/cpu/window_dims.h"
#include "engine/layers/pool/cpu_max.h"
#include "engine/layers/relu/cpu_backward.h"

namespace thalweg::engine::cpu {
namespace {

/// oneDNN (2.6) keeps places in windows of 256 elements or more as 32-bit numbers, which its bf16
/// gradient loses where channels lie inside or in blocks of 16. It does not in the plain layout.
TensorId where_indices_are_saved(Builder& b, const Window& w, TensorId x) {
  constexpr std::int64_t bytes_suffice = 255;
  const Desc given = b.desc(x);
  if (type_of(given) != bf16 || Window::volume(w.kernel) <= bytes_suffice) return x;
  return b.in_layout(Builder::Pass::both, x, plain_desc(dims_of(given), bf16));
}

TensorId pool(Builder& b, const Node& node, TensorId given, dnnl::algorithm algorithm) {
  const Window& w = node.layer->options_as<Window>();
  const TensorId x =
      algorithm == dnnl::algorithm::pooling_max ? where_indices_are_saved(b, w, given) : given;
  const Dims out = batch_of(node.layer->out, b.samples());
  const WindowDims window = dims_of(w);
  const Pooling shape{algorithm, b.desc(x), Desc(out, type_of(b.desc(x)), Tag::any), window,
                      far_padding(window, dims_of(b.desc(x)), out)};
  const auto pd = forward(shape);
  const TensorId y = b.activation(pd.dst_desc());
  Arguments arguments{{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
  const bool keeps = pd.workspace_desc().get_size() > 0;
  const TensorId places = keeps ? b.activation(pd.workspace_desc()) : -1;
  if (keeps) arguments.emplace_back(DNNL_ARG_WORKSPACE, places);
  b.primitive(Builder::Pass::both, pd, arguments);

  b.on_backward([=, &b](TensorId dy) {
    if (node.masks_relu_before) dy = add_relu_backward(b, y, dy);
    Pooling back = shape;
    back.dst = b.desc(y);
    const auto pdb = backward(back, pd);
    dy = b.in_layout(Builder::Pass::backward, dy, pdb.diff_dst_desc());
    const TensorId dx = b.activation(pdb.diff_src_desc());
    Arguments backward_arguments{{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}};
    if (keeps) backward_arguments.emplace_back(DNNL_ARG_WORKSPACE, places);
    b.primitive(Builder::Pass::backward, pdb, backward_arguments);
    return dx;
  });
  return y;
}

TensorId pool(Builder& b, const Node& node, TensorId x, Tag tag) {
  const Window& w = node.layer->options_as<Window>();
  const std::int64_t pixel = innermost(tag) ? w.channels : 16;
  const MaxPool shape{b.samples() * w.channels / pixel, pixel, w, node.masks_relu_before};
  const Desc out(batch_of(node.layer->out, b.samples()), type_of(b.desc(x)), tag);
  const TensorId y = b.activation(out);
  const TensorId places = b.bytes(static_cast<std::size_t>(shape.outputs()));
  with_type(type_of(out), [&](auto zero) {
    using T = decltype(zero);
    b.kernel(Builder::Pass::both, {x, y, places}, [=](const Frame& frame) {
      max_pool_forward(shape, frame.as<T>(x), frame.as<T>(y), frame.bytes(places));
    });
  });
  b.on_backward([=, in = b.desc(x), &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, out);
    const TensorId dx = b.activation(in);
    with_type(type_of(out), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(Builder::Pass::backward, {dy, places, dx}, [=](const Frame& frame) {
        max_pool_backward(shape, frame.as<T>(dy), frame.bytes(places), frame.as<T>(dx));
      });
    });
    return dx;
  });
  return y;
}

}  // namespace

TensorId max_pool2d(Builder& b, const Node& node, TensorId x) {
  const auto tag = channel_tag(b.desc(x));
  if (tag && serves_max_pool(node.layer->options_as<Window>())) return pool(b, node, x, *tag);
  return pool(b, node, x, dnnl::algorithm::pooling_max);
}

TensorId max_pool3d(Builder& b, const Node& node, TensorId x) {
  return max_pool2d(b, node, x);
}

TensorId avg_pool2d(Builder& b, const Node& node, TensorId x) {
  return pool(b, node, x, dnnl::algorithm::pooling_avg_exclude_padding);
}

TensorId avg_pool3d(Builder& b, const Node& node, TensorId x) {
  return avg_pool2d(b, node, x);
}

}  // namespace thalweg::engine::cpu
