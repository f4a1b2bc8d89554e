// add: one pass over all inputs, a following relu joined. Features in different orders and images
// in different layouts are first brought into the first input's.
#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/layer.h"
#include "engine/device/cpu/relu.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

THALWEG_SIMD void sum(const float* __restrict a, const float* __restrict b, std::size_t count,
                      bool relu, float* __restrict y) {
  if (relu)
    for (std::size_t i = 0; i < count; ++i)
      y[i] = std::max(a[i] + b[i], 0.0f);
  else
    for (std::size_t i = 0; i < count; ++i)
      y[i] = a[i] + b[i];
}

}  // namespace

TensorId add(Builder& b, const Node& node, TensorId x) {
  std::vector<TensorId> xs{x};
  for (std::size_t k = 1; k < b.inputs(); ++k)
    xs.push_back(b.input(k));
  const bool reordered =
      std::any_of(xs.begin(), xs.end(), [&](TensorId t) { return b.tensor(t).order != nullptr; });
  const std::vector<TensorId> given = xs;
  if (reordered)
    for (TensorId& t : xs)
      t = b.in_plain_order(Builder::Pass::both, t);
  const Desc layout = b.desc(xs[0]);
  const std::size_t floats = layout.get_size() / sizeof(float);

  TensorId y = xs[0];
  for (std::size_t k = 1; k < xs.size(); ++k) {
    const TensorId left = y, right = b.in_layout(Builder::Pass::both, xs[k], layout);
    const bool relu = node.relu && k + 1 == xs.size();
    y = b.activation(layout);
    b.kernel(Builder::Pass::both, {left, right, y}, [=](const Frame& frame) {
      sum(frame.floats(left), frame.floats(right), floats, relu, frame.floats(y));
    });
  }

  b.on_backward_to_all([=, &b](TensorId dy) {
    if (node.relu && !node.relu_masked_by_next) dy = add_relu_backward(b, y, dy);
    std::vector<TensorId> dxs;
    for (const TensorId t : given)
      dxs.push_back(reordered ? b.out_of_plain_order(dy, t) : dy);
    return dxs;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
