// nadam: mu_t = beta1 (1 - 0.96^(t psi) / 2), P_t = mu_1 ... mu_t;  m, v as in Adam;
// w -= lr ((1 - mu_t) g / (1 - P_t) + mu_(t+1) m / (1 - P_(t+1))) / (sqrt(v^) + epsilon).
// Dozat 2016 (ICLR workshop), as in PyTorch from version 2 on (torch/optim/nadam.py).
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct NadamFormula {
  T beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, l2, keep, g_coefficient, m_coefficient,
      root;
  THALWEG_FORMULA void operator()(T& w, T g, T& m, T& v) const {
    g += l2 * w;
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    w = keep * w - (g_coefficient * g + m_coefficient * m) / (std::sqrt(v) * root + epsilon);
  }
};
THALWEG_FUSED(NadamFormula, 2)

struct NadamRule {
  static constexpr int states = 2;
  static constexpr std::size_t scalars = 1;  // the product of mu over the steps before
  explicit NadamRule(const Options& o)
      : beta1(o.real("beta1")),
        beta2(o.real("beta2")),
        psi(o.real("momentum_decay")),
        epsilon(o.real("epsilon")),
        decay(o) {}
  double mu(const StepContext& c, double t) const {
    return c.momentum.value_or(beta1) * (1 - 0.5 * std::pow(0.96, t * psi));
  }
  template <class T>
  NadamFormula<T> formula(const StepContext& c, bool on, std::span<const double> scalar) const {
    const double b1 = c.momentum.value_or(beta1), t = static_cast<double>(c.step + 1);
    const double product = before(c, scalar) * mu(c, t), next = mu(c, t + 1);
    return {T(b1),
            T(1 - b1),
            T(beta2),
            T(1 - beta2),
            T(epsilon),
            T(decay.l2(on)),
            T(decay.keep(c.lr, on)),
            T(c.lr * (1 - mu(c, t)) / (1 - product)),
            T(c.lr * next / (1 - product * next)),
            T(1 / std::sqrt(1 - std::pow(beta2, t)))};
  }
  void finish(const StepContext& c, std::span<double> scalar) const {
    scalar[0] = before(c, scalar) * mu(c, static_cast<double>(c.step + 1));
  }
  static double before(const StepContext& c, std::span<const double> scalar) {
    return c.step == 0 ? 1 : scalar[0];
  }
  double beta1, beta2, psi, epsilon;
  Decay decay;
};

}  // namespace

OptimizerEntry nadam() {
  return {"nadam",
          "Adam with Nesterov momentum and a momentum schedule (Dozat 2016)",
          {{"*", 2e-3, "PyTorch's default"}},
          beta_options(0.9, 0.999) +
              std::vector{float_option("momentum_decay", 4e-3, 0, 1,
                                       "how fast the momentum schedule rises (psi)"),
                          epsilon_option(1e-8)} +
              decay_options(0, false),
          make_fused<float, NadamRule>,
          make_fused<double, NadamRule>};
}

}  // namespace thalweg::engine::optim
