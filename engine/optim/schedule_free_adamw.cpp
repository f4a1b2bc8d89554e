// schedule_free_adamw: schedule_free.h over AdamW without its mean:  v = beta2 v + (1 - beta2) g^2;
// u = g / (sqrt(v^) + epsilon) + weight_decay y.
#include "engine/optim/schedule_free.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct ScheduleFreeAdamwFormula {
  T lr, newest, g_coefficient, decay, beta2, one_minus_beta2, root, epsilon;
  bool first;
  THALWEG_FORMULA void operator()(T& y, T g, T& z, T& v) const {
    z = first ? y : z;
    v = beta2 * v + one_minus_beta2 * g * g;
    const T u = g / (std::sqrt(v) * root + epsilon) + decay * y;
    y = y + newest * (z - y) + g_coefficient * u;
    z -= lr * u;
  }
};
THALWEG_FUSED(ScheduleFreeAdamwFormula, 2)

struct ScheduleFreeAdamwRule {
  static constexpr int states = 2;
  static constexpr std::size_t scalars = ScheduleFree::scalars;
  explicit ScheduleFreeAdamwRule(const Options& o)
      : mean(o, "beta1"),
        beta2(o.real("beta2")),
        epsilon(o.real("epsilon")),
        decay(o.real("weight_decay")) {}
  template <class T>
  ScheduleFreeAdamwFormula<T> formula(const StepContext& c, bool on,
                                      std::span<const double> scalar) const {
    const double t = static_cast<double>(c.step + 1);
    return {T(c.lr),
            T(mean.newest(c, scalar)),
            T(mean.g_coefficient(c, scalar)),
            on ? T(decay) : T(0),
            T(beta2),
            T(1 - beta2),
            T(1 / std::sqrt(1 - std::pow(beta2, t))),
            T(epsilon),
            c.step == 0};
  }
  void finish(const StepContext& c, std::span<double> scalar) const { mean.finish(c, scalar); }
  ScheduleFree mean;
  double beta2, epsilon, decay;
};

}  // namespace

OptimizerEntry schedule_free_adamw() {
  return {"schedule_free_adamw",
          "Schedule-Free AdamW (arXiv:2405.15682): validates at the mean of its points",
          {{"*", 2.5e-3, "the authors' default"}},
          schedule_free_options("beta1") +
              std::vector{beta_options(0.9, 0.999)[1], epsilon_option(1e-8),
                          float_option("weight_decay", 0, 0, 1e6, "pulls y towards 0")},
          make_schedule_free<float, ScheduleFreeAdamwRule>,
          make_schedule_free<double, ScheduleFreeAdamwRule>};
}

}  // namespace thalweg::engine::optim
