// Functions of every element on its own, as in device/reference/activation.cpp: one pass each way.
// Slopes come from the output where that tells them, so that x's memory is free for it.
#include <cmath>
#include <numbers>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// Each has its value at x, and its slope at what backward reads: the output, or x.
struct Tanh {
  static constexpr bool reads_output = true;
  float scale, inverse;
  THALWEG_HOST_DEVICE float value(float x) const { return scale * tanhf(x); }
  THALWEG_HOST_DEVICE float slope(float y) const {
    const float level = y * inverse;
    return scale * (1 - level * level);
  }
};

struct Sigmoid {
  static constexpr bool reads_output = true;
  THALWEG_HOST_DEVICE float value(float x) const { return 1 / (1 + expf(-x)); }
  THALWEG_HOST_DEVICE float slope(float y) const { return y * (1 - y); }
};

struct Gelu {
  static constexpr bool reads_output = false;
  THALWEG_HOST_DEVICE static float below(float x) {
    constexpr float inverse = 1 / std::numbers::sqrt2_v<float>;
    return (1 + erff(x * inverse)) / 2;
  }
  THALWEG_HOST_DEVICE float value(float x) const { return x * below(x); }
  THALWEG_HOST_DEVICE float slope(float x) const {
    constexpr float height = std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
    return below(x) + x * expf(-x * x / 2) * height;
  }
};

struct Silu {
  static constexpr bool reads_output = false;
  THALWEG_HOST_DEVICE float value(float x) const { return x / (1 + expf(-x)); }
  THALWEG_HOST_DEVICE float slope(float x) const {
    const float s = 1 / (1 + expf(-x));
    return s + x * s * (1 - s);
  }
};

struct LeakyRelu {
  static constexpr bool reads_output = true;  // its sign is that of x, or the slope is 0 anyway
  float below;
  THALWEG_HOST_DEVICE float value(float x) const { return x > 0 ? x : below * x; }
  THALWEG_HOST_DEVICE float slope(float y) const { return y > 0 ? 1 : below; }
};

template <class F>
struct Value {
  F f;
  THALWEG_HOST_DEVICE float operator()(float x) const { return f.value(x); }
};
template <class F>
struct Slope {
  F f;
  THALWEG_HOST_DEVICE float operator()(float at, float dy) const { return dy * f.slope(at); }
};

template <class F>
TensorId each_element(Builder& b, TensorId x, const F& f) {
  const Type from = b.desc(x).type, to = b.output_type();
  const bool in_place = F::reads_output && from == to && b.may_overwrite(x);
  const TensorId y = in_place ? x : b.activation(b.desc(x).dims, to);
  const std::int64_t count = b.desc(y).count();
  b.kernel(Builder::Pass::both, {x, y}, [=](const Frame& frame) {
    gpu::with_type(from, [&](auto a) {
      gpu::with_type(to, [&](auto r) {
        gpu::map(frame.queue, count, Value<F>{f}, frame.as<decltype(r)>(y),
                 static_cast<const decltype(a)*>(frame.as<decltype(a)>(x)));
      });
    });
  });
  if (F::reads_output) b.keep(y);

  b.on_backward([=, &b](TensorId dy) {
    const TensorId kept = F::reads_output ? y : x, dx = b.writable(dy);
    const Type of_kept = b.desc(kept).type, type = b.desc(dx).type;
    b.kernel(Builder::Pass::backward, {kept, dx}, [=](const Frame& frame) {
      gpu::with_type(of_kept, [&](auto a) {
        gpu::with_type(type, [&](auto d) {
          auto* slopes = frame.as<decltype(d)>(dx);
          gpu::map(frame.queue, count, Slope<F>{f}, slopes,
                   static_cast<const decltype(a)*>(frame.as<decltype(a)>(kept)),
                   static_cast<const decltype(d)*>(slopes));
        });
      });
    });
    return dx;
  });
  return y;
}

}  // namespace

TensorId leaky_relu(Builder& b, const Node& node, TensorId x) {
  return each_element(b, x, LeakyRelu{static_cast<float>(node.layer->real("slope"))});
}
TensorId tanh(Builder& b, const Node& node, TensorId x) {
  const double scale = node.layer->real("scale");
  return each_element(b, x, Tanh{static_cast<float>(scale), static_cast<float>(1 / scale)});
}
TensorId sigmoid(Builder& b, const Node&, TensorId x) {
  return each_element(b, x, Sigmoid{});
}
TensorId gelu(Builder& b, const Node&, TensorId x) {
  return each_element(b, x, Gelu{});
}
TensorId silu(Builder& b, const Node&, TensorId x) {
  return each_element(b, x, Silu{});
}

}  // namespace thalweg::engine::cuda
