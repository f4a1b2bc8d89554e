// lion: w -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay w);  m = beta2 m + (1 - beta2) g.
// Chen et al. 2023 (arXiv:2302.06675), as in google/automl (lion).
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct LionFormula {
  T lr, beta1, one_minus_beta1, beta2, one_minus_beta2, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g, T& m) const {
    g += l2 * w;
    const T c = beta1 * m + one_minus_beta1 * g;
    const T sign = c > T(0) ? T(1) : c < T(0) ? T(-1) : T(0);
    w = keep * w - lr * sign;
    m = beta2 * m + one_minus_beta2 * g;
  }
};
THALWEG_FUSED(LionFormula, 1)

struct LionRule {
  static constexpr int states = 1;
  explicit LionRule(const Options& o) : beta1(o.real("beta1")), beta2(o.real("beta2")), decay(o) {}
  template <class T>
  LionFormula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    const double b1 = c.momentum.value_or(beta1);
    return {T(c.lr),
            T(b1),
            T(1 - b1),
            T(beta2),
            T(1 - beta2),
            T(decay.l2(on)),
            T(decay.keep(c.lr, on))};
  }
  double beta1, beta2;
  Decay decay;
};

}  // namespace

OptimizerEntry lion() {
  return {"lion",
          "Lion (arXiv:2302.06675): steps of equal size along the sign of the momentum",
          {{"*", 1e-4, "the paper: 3 to 10 times below AdamW's"}},
          beta_options(0.9, 0.99) + decay_options(0, true),
          make_fused<float, LionRule>,
          make_fused<double, LionRule>};
}

}  // namespace thalweg::engine::optim
