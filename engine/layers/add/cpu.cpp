// add: one pass over all inputs, a following relu joined. Features in different orders and images
// in different layouts are first brought into the first input's.
#include <algorithm>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/types.h"
#include "engine/layers/relu/cpu_backward.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

template <class T>
THALWEG_INLINE void sum_of(const T* __restrict a, const T* __restrict b, std::size_t count,
                           bool relu, T* __restrict y) {
  if (relu)
    for (std::size_t i = 0; i < count; ++i)
      y[i] = store<T>(std::max(load(a[i]) + load(b[i]), 0.0f));
  else
    for (std::size_t i = 0; i < count; ++i)
      y[i] = store<T>(load(a[i]) + load(b[i]));
}

THALWEG_SIMD void sum(const float* a, const float* b, std::size_t count, bool relu, float* y) {
  sum_of(a, b, count, relu, y);
}
THALWEG_SIMD void sum(const Bf16* a, const Bf16* b, std::size_t count, bool relu, Bf16* y) {
  sum_of(a, b, count, relu, y);
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
  // Of types, that of values between layers wins.
  const auto typed = std::find_if(xs.begin(), xs.end(),
                                  [&](TensorId t) { return type_of(b.desc(t)) == b.type(); });
  const Desc layout = b.desc(typed == xs.end() ? xs[0] : *typed);
  const std::size_t count = count_of(layout);

  TensorId y = b.in_layout(Builder::Pass::both, xs[0], layout);
  for (std::size_t k = 1; k < xs.size(); ++k) {
    const TensorId left = y, right = b.in_layout(Builder::Pass::both, xs[k], layout);
    const bool relu = node.relu && k + 1 == xs.size();
    y = b.activation(layout);
    with_type(type_of(layout), [&](auto zero) {
      using T = decltype(zero);
      b.kernel(Builder::Pass::both, {left, right, y}, [=](const Frame& frame) {
        sum(frame.as<T>(left), frame.as<T>(right), count, relu, frame.as<T>(y));
      });
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
