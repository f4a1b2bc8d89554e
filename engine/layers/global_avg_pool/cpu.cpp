// global_avg_pool on oneDNN's average pooling with a window as large as the image; the result,
// channels padded or not, is taken as features.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/window_dims.h"

namespace thalweg::engine::cpu {

TensorId global_avg_pool(Builder& b, const Node& node, TensorId x) {
  const Shape& in = node.layer->in;
  const Dims image(in.begin() + 1, in.end());
  const Dims ones(image.size(), 1), zeros(image.size(), 0);
  Dims out{b.samples(), in[0]};
  out.insert(out.end(), ones.begin(), ones.end());
  const WindowDims window{image, ones, zeros};
  const Type type = type_of(b.desc(x));
  Pooling shape{dnnl::algorithm::pooling_avg_exclude_padding, b.desc(x), Desc(out, type, Tag::any),
                window, zeros};
  const auto pd = forward(shape);
  const TensorId y = b.activation(pd.dst_desc());
  b.primitive(Builder::Pass::both, pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  const TensorId plain = b.in_layout(Builder::Pass::both, y, plain_desc(out, type));
  const Desc features({b.samples(), in[0]}, type, Tag::ab);

  b.on_backward([=, &b](TensorId dy) {
    dy = b.view(b.in_layout(Builder::Pass::backward, dy, features), plain_desc(out, type), nullptr);
    Pooling back = shape;
    back.dst = b.desc(y);
    const auto pdb = backward(back, pd);
    dy = b.in_layout(Builder::Pass::backward, dy, pdb.diff_dst_desc());
    const TensorId dx = b.activation(pdb.diff_src_desc());
    b.primitive(Builder::Pass::backward, pdb, {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}});
    return dx;
  });
  return b.view(plain, features, nullptr);
}

}  // namespace thalweg::engine::cpu
