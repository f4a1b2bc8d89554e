// nadamw: AdamW with the mean looked ahead:  n = beta1 m + (1 - beta1) g after m's own update;
// w -= lr n^ / (sqrt(v^) + epsilon).
// Source: the AlgoPerf baseline (mlcommons/algorithmic-efficiency, nadamw).
#include "engine/optim/adam.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct NadamwFormula {
  T beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, l2, keep, step, root;
  THALWEG_FORMULA void operator()(T& w, T g, T& m, T& v) const {
    g += l2 * w;
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    const T n = beta1 * m + one_minus_beta1 * g;
    w = keep * w - step * n / (std::sqrt(v) * root + epsilon);
  }
};
THALWEG_FUSED(NadamwFormula, 2)

using NadamwRule = AdamRuleFor<NadamwFormula, 2>;

}  // namespace

OptimizerEntry nadamw() {
  return {"nadamw",
          "AdamW with Nesterov momentum (AlgoPerf's baseline)",
          {{"*", 1e-3, "AdamW's default, as in AlgoPerf's NAdamW"}},
          beta_options(0.9, 0.999) + std::vector{epsilon_option(1e-8)} + decay_options(0.01, true),
          make_fused<float, NadamwRule>,
          make_fused<double, NadamwRule>};
}

}  // namespace thalweg::engine::optim
