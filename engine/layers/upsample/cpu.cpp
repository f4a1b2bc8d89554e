// upsample on oneDNN's resampling to the nearest pixel, in whatever layout the images have.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/window_dims.h"

namespace thalweg::engine::cpu {

TensorId upsample(Builder& b, const Node& node, TensorId x) {
  const Desc in = b.desc(x);
  const auto pd =
      repeat_forward(in, Desc(batch_of(node.layer->out, b.samples()), type_of(in), Tag::any));
  const TensorId y = b.activation(pd.dst_desc());
  b.primitive(Builder::Pass::both, pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  b.on_backward([=, &b](TensorId dy) {
    const auto pdb = repeat_backward(in, b.desc(y), pd);
    dy = b.in_layout(Builder::Pass::backward, dy, b.desc(y));
    const TensorId dx = b.activation(in);
    b.primitive(Builder::Pass::backward, pdb, {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}});
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
