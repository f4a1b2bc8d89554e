// rmsprop: s = alpha s + (1 - alpha) g^2;  a = alpha a + (1 - alpha) g, where centered;
// d = g / (sqrt(s - a^2) + epsilon);  v = m v + d;  w -= lr v.
// Tieleman & Hinton 2012 (Coursera lecture 6.5); centered: Graves 2013 (arXiv:1308.0850); as in
// PyTorch (torch/optim/rmsprop.py): epsilon outside the root.
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

/// Neither momentum nor centered: one state is enough.
template <class T>
struct Plain {
  T lr, alpha, one_minus_alpha, epsilon, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g, T& s) const {
    g += l2 * w;
    s = alpha * s + one_minus_alpha * g * g;
    w = keep * w - lr * (g / (std::sqrt(s) + epsilon));
  }
};
THALWEG_FUSED(Plain, 1)

template <class T>
struct Full {
  T lr, alpha, one_minus_alpha, epsilon, l2, keep, m, center;
  THALWEG_FORMULA void operator()(T& w, T g, T& s, T& v, T& a) const {
    g += l2 * w;
    s = alpha * s + one_minus_alpha * g * g;
    a = alpha * a + one_minus_alpha * g;
    // Rounding can take the difference of near equals below zero.
    const T variance = s - center * (a * a);
    v = m * v + g / (std::sqrt(variance > T(0) ? variance : T(0)) + epsilon);
    w = keep * w - lr * v;
  }
};
THALWEG_FUSED(Full, 3)

struct PlainRule {
  static constexpr int states = 1;
  explicit PlainRule(const Options& o)
      : alpha(o.real("alpha")), epsilon(o.real("epsilon")), decay(o) {}
  template <class T>
  Plain<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    return {T(c.lr), T(alpha), T(1 - alpha), T(epsilon), T(decay.l2(on)), T(decay.keep(c.lr, on))};
  }
  double alpha, epsilon;
  Decay decay;
};

struct FullRule {
  static constexpr int states = 3;
  explicit FullRule(const Options& o)
      : plain(o), momentum(o.real("momentum")), center(o.flag("centered") ? 1 : 0) {}
  template <class T>
  Full<T> formula(const StepContext& c, bool on, std::span<const double> scalars) const {
    const Plain<T> p = plain.formula<T>(c, on, scalars);
    return {p.lr,
            p.alpha,
            p.one_minus_alpha,
            p.epsilon,
            p.l2,
            p.keep,
            T(c.momentum.value_or(momentum)),
            T(center)};
  }
  PlainRule plain;
  double momentum, center;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_rmsprop(const Options& o, const Parameters<T>& p) {
  if (o.real("momentum") > 0 || o.flag("centered")) return make_fused<T, FullRule>(o, p);
  return make_fused<T, PlainRule>(o, p);
}

}  // namespace

OptimizerEntry rmsprop() {
  return {"rmsprop",
          "RMSprop (Hinton's lecture 6.5), with momentum and centered as options",
          {{"*", 1e-3, "Keras' default; PyTorch's 0.01 is too large for most models"}},
          std::vector{float_option("alpha", 0.99, 0, 1, "decay of the mean of squares"),
                      momentum_option(0), epsilon_option(1e-8),
                      flag_option("centered", false, "take the mean gradient's square off")} +
              decay_options(0, false),
          make_rmsprop<float>,
          make_rmsprop<double>};
}

}  // namespace thalweg::engine::optim
