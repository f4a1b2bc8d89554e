// Functions of every element on its own. gelu: x P(X <= x) for a standard normal X (Hendrycks and
// Gimpel, arXiv:1606.08415), exact, with erf. leaky_relu: x, or slope x below 0.
#include <cmath>
#include <numbers>

#include "engine/layers/activation/options.h"
#include "engine/layers/row.h"

namespace thalweg::engine::reference {
namespace {

void activation_plan(LayerPlan& layer, const jobspec::Options&) {
  layer.out = layer.in;
}

void plan_tanh(LayerPlan& layer, const jobspec::Options& options) {
  layer.out = layer.in;
  layer.options = TanhOptions{options.real("scale")};
}

void plan_leaky_relu(LayerPlan& layer, const jobspec::Options& options) {
  layer.out = layer.in;
  layer.options = LeakyReluOptions{options.real("slope")};
}

struct Tanh {
  explicit Tanh(const LayerPlan& layer) : scale(layer.options_as<TanhOptions>().scale) {}
  template <class T>
  T value(T x) const {
    return static_cast<T>(scale) * std::tanh(x);
  }
  template <class T>
  T derivative(T x) const {
    const T y = std::tanh(x);
    return static_cast<T>(scale) * (1 - y * y);
  }
  double scale;
};

struct Sigmoid {
  explicit Sigmoid(const LayerPlan&) {}
  template <class T>
  static T value(T x) {
    return 1 / (1 + std::exp(-x));
  }
  template <class T>
  static T derivative(T x) {
    return value(x) * (1 - value(x));
  }
};

struct Gelu {
  explicit Gelu(const LayerPlan&) {}
  template <class T>
  static T below(T x) {
    return (1 + std::erf(x / std::numbers::sqrt2_v<T>)) / 2;
  }
  template <class T>
  static T value(T x) {
    return x * below(x);
  }
  template <class T>
  static T derivative(T x) {
    const T density =
        std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
    return below(x) + x * density;
  }
};

struct Silu {
  explicit Silu(const LayerPlan&) {}
  template <class T>
  static T value(T x) {
    return x * Sigmoid::value(x);
  }
  template <class T>
  static T derivative(T x) {
    const T s = Sigmoid::value(x);
    return s + x * s * (1 - s);
  }
};

struct LeakyRelu {
  explicit LeakyRelu(const LayerPlan& layer) : below(layer.options_as<LeakyReluOptions>().slope) {}
  template <class T>
  T value(T x) const {
    return x > 0 ? x : static_cast<T>(below) * x;
  }
  template <class T>
  T derivative(T x) const {
    return x > 0 ? T{1} : static_cast<T>(below);
  }
  double below;
};

template <class F, class T>
void activation_forward(const LayerPlan& layer, const Call<T>& call) {
  const F f(layer);
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.y[i] = f.value(call.x[i]);
}

template <class F, class T>
void activation_backward(const LayerPlan& layer, const Call<T>& call) {
  if (call.dx == nullptr) return;
  const F f(layer);
  for (std::int64_t i = 0; i < call.samples() * elements(layer.in); ++i)
    call.dx[i] = call.dy[i] * f.derivative(call.x[i]);
}

template <class F, void (*plan_of)(LayerPlan&, const jobspec::Options&) = activation_plan>
constexpr Layer of{plan_of,
                   {activation_forward<F, float>, activation_backward<F, float>},
                   {activation_forward<F, double>, activation_backward<F, double>}};

}  // namespace

const Layer tanh = of<Tanh, plan_tanh>;
const Layer sigmoid = of<Sigmoid>;
const Layer gelu = of<Gelu>;
const Layer silu = of<Silu>;
const Layer leaky_relu = of<LeakyRelu, plan_leaky_relu>;

}  // namespace thalweg::engine::reference

namespace thalweg::engine::layers {

LayerKind leaky_relu() {
  return {.doc = "x, or slope x below 0",
          .options = {float_option("slope", 0.01, 0, 1, "below 0")},
          .reference = &reference::leaky_relu,
          .swaps_with_max_pool = true};
}

LayerKind tanh() {
  return {.doc = "scale tanh(x)",
          .options = {float_option("scale", 1, 1e-6, 1e6, "of the output")},
          .reference = &reference::tanh};
}

LayerKind sigmoid() {
  return {.doc = "1 / (1 + exp(-x))", .options = {}, .reference = &reference::sigmoid};
}

LayerKind gelu() {
  return {.doc = "x times the normal distribution below x",
          .options = {},
          .reference = &reference::gelu};
}

LayerKind silu() {
  return {.doc = "x / (1 + exp(-x))", .options = {}, .reference = &reference::silu};
}

}  // namespace thalweg::engine::layers
