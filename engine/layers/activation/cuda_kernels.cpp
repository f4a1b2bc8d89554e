// Functions of every element: a thread takes 16 bytes of y.
#include "engine/layers/activation/cuda_kernels.h"

#include <cmath>
#include <numbers>

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// Each has its value at x, and its derivative at what backward reads: the output, or x.
struct Tanh {
  float scale, inverse;
  THALWEG_HOST_DEVICE float value(float x) const { return scale * tanhf(x); }
  THALWEG_HOST_DEVICE float derivative(float y) const {
    const float level = y * inverse;
    return scale * (1 - level * level);
  }
};

struct Sigmoid {
  THALWEG_HOST_DEVICE float value(float x) const { return 1 / (1 + expf(-x)); }
  THALWEG_HOST_DEVICE float derivative(float y) const { return y * (1 - y); }
};

struct Gelu {
  THALWEG_HOST_DEVICE static float below(float x) {
    constexpr float inverse = 1 / std::numbers::sqrt2_v<float>;
    return (1 + erff(x * inverse)) / 2;
  }
  THALWEG_HOST_DEVICE float value(float x) const { return x * below(x); }
  THALWEG_HOST_DEVICE float derivative(float x) const {
    constexpr float height = std::numbers::inv_sqrtpi_v<float> / std::numbers::sqrt2_v<float>;
    return below(x) + x * expf(-x * x / 2) * height;
  }
};

struct Silu {
  THALWEG_HOST_DEVICE float value(float x) const { return x / (1 + expf(-x)); }
  THALWEG_HOST_DEVICE float derivative(float x) const {
    const float s = 1 / (1 + expf(-x));
    return s + x * s * (1 - s);
  }
};

struct LeakyRelu {
  float below;
  THALWEG_HOST_DEVICE float value(float x) const { return x > 0 ? x : below * x; }
  THALWEG_HOST_DEVICE float derivative(float y) const { return y > 0 ? 1 : below; }
};

template <class F>
struct Value {
  F f;
  THALWEG_HOST_DEVICE float operator()(float x) const { return f.value(x); }
};
template <class F>
struct ActivationGradient {
  F f;
  THALWEG_HOST_DEVICE float operator()(float at, float dy) const { return dy * f.derivative(at); }
};

/// work(the function)
template <class Work>
void with_function(const Activation& f, const Work& work) {
  switch (f.kind) {
    case Activation::Kind::leaky_relu:
      return work(LeakyRelu{static_cast<float>(f.parameter)});
    case Activation::Kind::tanh:
      return work(Tanh{static_cast<float>(f.parameter), static_cast<float>(1 / f.parameter)});
    case Activation::Kind::sigmoid:
      return work(Sigmoid{});
    case Activation::Kind::gelu:
      return work(Gelu{});
    case Activation::Kind::silu:
      return work(Silu{});
  }
}

}  // namespace

void activation_forward(gpu::Stream& stream, const Activation& f, std::int64_t count,
                        gpu::Type from, const void* x, gpu::Type to, void* y) {
  with_function(f, [&](auto function) {
    gpu::with_type(from, [&](auto a) {
      gpu::with_type(to, [&](auto r) {
        gpu::map(stream, count, Value<decltype(function)>{function}, static_cast<decltype(r)*>(y),
                 static_cast<const decltype(a)*>(x));
      });
    });
  });
}

void activation_backward(gpu::Stream& stream, const Activation& f, std::int64_t count, gpu::Type of,
                         const void* saved, gpu::Type type, void* dy) {
  with_function(f, [&](auto function) {
    gpu::with_type(of, [&](auto a) {
      gpu::with_type(type, [&](auto d) {
        auto* const gradient = static_cast<decltype(d)*>(dy);
        gpu::map(stream, count, ActivationGradient<decltype(function)>{function}, gradient,
                 static_cast<const decltype(a)*>(saved), static_cast<const decltype(d)*>(gradient));
      });
    });
  });
}

}  // namespace thalweg::engine::cuda
