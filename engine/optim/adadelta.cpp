// adadelta: s = rho s + (1 - rho) g^2;  d = sqrt((a + epsilon) / (s + epsilon)) g;
// a = rho a + (1 - rho) d^2;  w -= lr d.
// Zeiler 2012 (arXiv:1212.5701), as in PyTorch (torch/optim/adadelta.py).
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct AdadeltaFormula {
  T lr, rho, one_minus_rho, epsilon, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g, T& s, T& a) const {
    g += l2 * w;
    s = rho * s + one_minus_rho * g * g;
    const T d = std::sqrt(a + epsilon) / std::sqrt(s + epsilon) * g;
    a = rho * a + one_minus_rho * d * d;
    w = keep * w - lr * d;
  }
};
THALWEG_FUSED(AdadeltaFormula, 2)

struct AdadeltaRule {
  static constexpr int states = 2;
  explicit AdadeltaRule(const Options& o)
      : rho(o.real("rho")), epsilon(o.real("epsilon")), decay(o) {}
  template <class T>
  AdadeltaFormula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    return {T(c.lr), T(rho), T(1 - rho), T(epsilon), T(decay.l2(on)), T(decay.keep(c.lr, on))};
  }
  double rho, epsilon;
  Decay decay;
};

}  // namespace

OptimizerEntry adadelta() {
  return {"adadelta",
          "Adadelta (arXiv:1212.5701): steps in the unit of the weights",
          {{"*", 1, "PyTorch's default; the paper has no lr"}},
          std::vector{float_option("rho", 0.9, 0, 1, "decay of both means of squares"),
                      epsilon_option(1e-6)} +
              decay_options(0, false),
          make_fused<float, AdadeltaRule>,
          make_fused<double, AdadeltaRule>};
}

}  // namespace thalweg::engine::optim
