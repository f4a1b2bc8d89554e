// amsgrad: Adam, but divided by the largest v so far:  u = max(u, v);
// w -= lr m^ / (sqrt(u / (1 - beta2^t)) + epsilon).
// Reddi et al. 2018 (arXiv:1904.09237), bias-corrected as in PyTorch (torch/optim/adam.py).
#include "engine/optim/adam.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct AmsgradFormula {
  T beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, l2, keep, step, root;
  THALWEG_FORMULA void operator()(T& w, T g, T& m, T& v, T& u) const {
    g += l2 * w;
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    u = u > v ? u : v;
    w = keep * w - step * m / (std::sqrt(u) * root + epsilon);
  }
};
THALWEG_FUSED(AmsgradFormula, 3)

using AmsgradRule = AdamRuleFor<AmsgradFormula, 3>;

}  // namespace

OptimizerEntry amsgrad() {
  return {"amsgrad",
          "Adam over the largest second moment so far (arXiv:1904.09237)",
          {{"*", 1e-3, "Adam's default, as in PyTorch"}},
          beta_options(0.9, 0.999) + std::vector{epsilon_option(1e-8)} + decay_options(0, false),
          make_fused<float, AmsgradRule>,
          make_fused<double, AmsgradRule>};
}

}  // namespace thalweg::engine::optim
