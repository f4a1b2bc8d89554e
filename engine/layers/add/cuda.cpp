// add: one pass over two or three inputs, two more in every pass after it; a following relu joined.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/reductions.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct Sum {
  bool relu;
  template <class... X>
  THALWEG_HOST_DEVICE float operator()(X... x) const {
    const float y = (x + ...);
    return relu && y < 0 ? 0 : y;  // NaN stays NaN
  }
};

/// y = a + b (+ c), relu where asked for. y may be a.
void add_sum(Builder& builder, TensorId a, TensorId b, TensorId c, bool relu, TensorId y) {
  const Desc desc = builder.desc(y);
  std::vector<TensorId> touched{a, b, y};
  if (c >= 0) touched.push_back(c);
  builder.kernel(Builder::Pass::both, touched, [=](const Frame& frame) {
    gpu::with_type(desc.type, [&](auto t) {
      using T = decltype(t);
      const auto of = [&](TensorId x) { return static_cast<const T*>(frame.as<T>(x)); };
      if (c < 0)
        return gpu::map(frame.stream, desc.count(), Sum{relu}, frame.as<T>(y), of(a), of(b));
      gpu::map(frame.stream, desc.count(), Sum{relu}, frame.as<T>(y), of(a), of(b), of(c));
    });
  });
}

}  // namespace

TensorId add(Builder& b, const Node& node, TensorId) {
  std::vector<TensorId> xs;
  for (std::size_t k = 0; k < b.inputs(); ++k)
    xs.push_back(b.in_type(Builder::Pass::both, b.input(k), b.type()));
  const TensorId y = b.like(xs[0]);
  TensorId sum = xs[0];
  for (std::size_t k = 1; k < xs.size(); k += 2) {
    const TensorId third = k + 1 < xs.size() ? xs[k + 1] : -1;
    add_sum(b, sum, xs[k], third, node.relu && k + 2 >= xs.size(), y);
    sum = y;
  }
  if (node.relu) b.keep(y);
  b.on_backward_to_all([=, &b](TensorId dy) {
    if (node.relu) dy = relu_gradient(b, y, dy);
    return std::vector<TensorId>(xs.size(), dy);
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

}  // namespace thalweg::engine::cuda
