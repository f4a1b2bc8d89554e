// The formula that adam and adamw share; and what other rows fall back on for biases and the like.
// Kingma & Ba 2015 (arXiv:1412.6980), algorithm 1.
#pragma once

#include "engine/optim/fused.h"

namespace thalweg::engine::optim {

template <class T>
struct AdamFormula {
  T beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, l2, keep;
  T step;  ///< lr / (1 - beta1^t)
  T root;  ///< 1 / sqrt(1 - beta2^t)
  THALWEG_FORMULA void operator()(T& w, T g, T& m, T& v) const {
    g += l2 * w;
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    w = keep * w - step * m / (std::sqrt(v) * root + epsilon);
  }
};
void run(const AdamFormula<float>& formula, const FlatRange<float>& x);
void run(const AdamFormula<double>& formula, const FlatRange<double>& x);

struct AdamHyper {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  /// For the t-th update, t from 1. `Formula` has the members of AdamFormula, in their order.
  template <class T, template <class> class Formula = AdamFormula>
  Formula<T> formula(double lr, std::int64_t t, double l2, double keep) const {
    const auto n = static_cast<double>(t);
    return {T(beta1),
            T(1 - beta1),
            T(beta2),
            T(1 - beta2),
            T(epsilon),
            T(l2),
            T(keep),
            T(lr / (1 - std::pow(beta1, n))),
            T(1 / std::sqrt(1 - std::pow(beta2, n)))};
  }
};

/// Of a row whose formula takes Adam's factors.
template <template <class> class Formula, int state_count>
struct AdamRuleFor {
  static constexpr int states = state_count;
  explicit AdamRuleFor(const Options& o)
      : hyper{o.real("beta1"), o.real("beta2"), o.real("epsilon")}, decay(o) {}
  template <class T>
  Formula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    AdamHyper now = hyper;
    now.beta1 = c.momentum.value_or(hyper.beta1);
    return now.template formula<T, Formula>(c.lr, c.step + 1, decay.l2(on), decay.keep(c.lr, on));
  }
  AdamHyper hyper;
  Decay decay;
};
using AdamRule = AdamRuleFor<AdamFormula, 2>;

}  // namespace thalweg::engine::optim
