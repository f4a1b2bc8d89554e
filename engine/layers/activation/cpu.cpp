// tanh, sigmoid, silu and leaky_relu on oneDNN's element-wise functions: in place where backward
// needs only the output, and the input is not the caller's memory. gelu in loops of our own, which
// take half the time.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/exponential.h"
#include "engine/device/cpu/types.h"
#include "engine/layers/activation/options.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::cpu {
namespace {

using dnnl::algorithm;

struct Traits {
  bool keeps_sign;   ///< which is what backward of a relu before it looks at
  bool reads_value;  ///< backward looks at more than the output's sign
};

template <class T>
THALWEG_INLINE void gelu_of(const T* __restrict x, std::size_t count, T* __restrict y) {
  for (std::size_t i = 0; i < count; ++i)
    y[i] = store<T>(load(x[i]) * normal(load(x[i])).below);
}

THALWEG_SIMD void gelu_forward(const float* x, std::size_t count, float* y) {
  gelu_of(x, count, y);
}
THALWEG_SIMD void gelu_forward(const Bf16* x, std::size_t count, Bf16* y) {
  gelu_of(x, count, y);
}

template <class T>
THALWEG_INLINE void gelu_gradient_of(const T* __restrict x, std::size_t count, T* __restrict dy) {
  for (std::size_t i = 0; i < count; ++i) {
    const float value = load(x[i]);
    const Normal at = normal(value);
    dy[i] = store<T>(load(dy[i]) * (at.below + value * at.density));
  }
}

THALWEG_SIMD void gelu_backward(const float* x, std::size_t count, float* dy) {
  gelu_gradient_of(x, count, dy);
}
THALWEG_SIMD void gelu_backward(const Bf16* x, std::size_t count, Bf16* dy) {
  gelu_gradient_of(x, count, dy);
}

/// Backward looks at the output, so that the input need not be saved.
TensorId from_output(Builder& b, TensorId x, const Eltwise& f, Traits traits) {
  const TensorId y = traits.keeps_sign && b.may_overwrite(x) ? x : b.like(x);
  if (traits.reads_value) b.keep(y);
  b.primitive(Builder::Pass::both, forward(f, b.desc(x)), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  b.on_backward([=, &b](TensorId dy) {
    dy = b.writable(b.in_layout(Builder::Pass::backward, dy, b.desc(y)));
    b.primitive(Builder::Pass::backward, backward(f, b.desc(y)),
                {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dy}});
    return dy;
  });
  return y;
}

TensorId from_input(Builder& b, TensorId x, const Eltwise& f) {
  const TensorId y = b.like(x);
  b.primitive(Builder::Pass::both, forward(f, b.desc(x)), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  b.on_backward([=, &b](TensorId dy) {
    dy = b.writable(b.in_layout(Builder::Pass::backward, dy, b.desc(x)));
    b.primitive(Builder::Pass::backward, backward(f, b.desc(x)),
                {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dy}});
    return dy;
  });
  return y;
}

/// y *= factor, forward and backward.
TensorId times(Builder& b, TensorId x, float factor) {
  const Eltwise f{algorithm::eltwise_linear, factor, 0};
  const TensorId y = b.like(x);
  b.primitive(Builder::Pass::both, forward(f, b.desc(x)), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  return y;
}

}  // namespace

TensorId tanh(Builder& b, const Node& node, TensorId x) {
  const auto scale = static_cast<float>(node.layer->options_as<TanhOptions>().scale);
  const Eltwise f{algorithm::eltwise_tanh_use_dst_for_bwd, 0, 0};
  if (scale == 1.0f) return from_output(b, x, f, {true, true});
  const TensorId y = b.like(x);
  b.primitive(Builder::Pass::both, forward(f, b.desc(x)), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  const TensorId scaled = times(b, y, scale);
  b.on_backward([=, &b](TensorId dy) {
    dy = b.writable(b.in_layout(Builder::Pass::backward, dy, b.desc(y)));
    b.primitive(Builder::Pass::backward, forward({algorithm::eltwise_linear, scale, 0}, b.desc(y)),
                {{DNNL_ARG_SRC, dy}, {DNNL_ARG_DST, dy}});
    b.primitive(Builder::Pass::backward, backward(f, b.desc(y)),
                {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dy}});
    return dy;
  });
  return scaled;
}

TensorId sigmoid(Builder& b, const Node&, TensorId x) {
  return from_output(b, x, {algorithm::eltwise_logistic_use_dst_for_bwd, 0, 0}, {false, true});
}

TensorId gelu(Builder& b, const Node&, TensorId x) {
  const TensorId y = b.like(x);
  const std::size_t count = count_of(b.desc(x));
  const Type type = type_of(b.desc(x));
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    b.kernel(Builder::Pass::both, {x, y},
             [=](const Frame& frame) { gelu_forward(frame.as<T>(x), count, frame.as<T>(y)); });
  });
  b.on_backward([=, &b](TensorId dy) {
    dy = b.writable(b.in_layout(Builder::Pass::backward, dy, b.desc(x)));
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      b.kernel(Builder::Pass::backward, {x, dy},
               [=](const Frame& frame) { gelu_backward(frame.as<T>(x), count, frame.as<T>(dy)); });
    });
    return dy;
  });
  return y;
}

TensorId silu(Builder& b, const Node&, TensorId x) {
  return from_input(b, x, {algorithm::eltwise_swish, 1, 0});
}

TensorId leaky_relu(Builder& b, const Node& node, TensorId x) {
  const auto slope = static_cast<float>(node.layer->options_as<LeakyReluOptions>().slope);
  return from_output(b, x, {algorithm::eltwise_relu_use_dst_for_bwd, slope, 0}, {true, false});
}

}  // namespace thalweg::engine::cpu
