// nadamw: AdamW with the mean looked ahead:  n = beta1 m + (1 - beta1) g after m's own update;
// w -= lr n^ / (sqrt(v^) + epsilon).
// Source: the AlgoPerf baseline (mlcommons/algorithmic-efficiency, nadamw).
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct Formula {
  T beta1, rest1, beta2, rest2, epsilon, l2, keep, step, root;
  THALWEG_INLINE void operator()(T& w, T g, T& m, T& v) const {
    g += l2 * w;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    const T n = beta1 * m + rest1 * g;
    w = keep * w - step * n / (std::sqrt(v) * root + epsilon);
  }
};
THALWEG_FUSED(Formula, 2)

struct Rule {
  static constexpr int states = 2;
  explicit Rule(const OptimizerOptions& o)
      : beta1(o.real("beta1")), beta2(o.real("beta2")), epsilon(o.real("epsilon")), decay(o) {}
  template <class T>
  Formula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    const double b1 = c.momentum.value_or(beta1), t = static_cast<double>(c.step + 1);
    return {T(b1),
            T(1 - b1),
            T(beta2),
            T(1 - beta2),
            T(epsilon),
            T(decay.l2(on)),
            T(decay.keep(c.lr, on)),
            T(c.lr / (1 - std::pow(b1, t))),
            T(1 / std::sqrt(1 - std::pow(beta2, t)))};
  }
  double beta1, beta2, epsilon;
  Decay decay;
};

}  // namespace

OptimizerEntry nadamw() {
  return {"nadamw",
          "AdamW with Nesterov momentum (AlgoPerf's baseline)",
          {{"*", 1e-3, "AdamW's default, as in AlgoPerf's NAdamW"}},
          beta_options(0.9, 0.999) + std::vector{epsilon_option(1e-8)} + decay_options(0.01, true),
          make_fused<float, Rule>,
          make_fused<double, Rule>};
}

}  // namespace thalweg::engine::optim
