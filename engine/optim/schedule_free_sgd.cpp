// schedule_free_sgd: schedule_free.h over SGD:  u = g + weight_decay y.
#include "engine/optim/schedule_free.h"

namespace thalweg::engine::optim {

THALWEG_FUSED(MeanFormula, 1)

namespace {

template <class T>
struct ScheduleFreeSgdFormula {
  T lr, newest, g_coefficient, decay;
  bool first;
  THALWEG_FORMULA void operator()(T& y, T g, T& z) const {
    z = first ? y : z;
    const T u = g + decay * y;
    y = y + newest * (z - y) + g_coefficient * u;
    z -= lr * u;
  }
};
THALWEG_FUSED(ScheduleFreeSgdFormula, 1)

struct ScheduleFreeSgdRule {
  static constexpr int states = 1;
  static constexpr std::size_t scalars = ScheduleFree::scalars;
  explicit ScheduleFreeSgdRule(const Options& o)
      : mean(o, "momentum"), decay(o.real("weight_decay")) {}
  template <class T>
  ScheduleFreeSgdFormula<T> formula(const StepContext& c, bool on,
                                    std::span<const double> scalar) const {
    return {T(c.lr), T(mean.newest(c, scalar)), T(mean.g_coefficient(c, scalar)),
            on ? T(decay) : T(0), c.step == 0};
  }
  void finish(const StepContext& c, std::span<double> scalar) const { mean.finish(c, scalar); }
  ScheduleFree mean;
  double decay;
};

}  // namespace

OptimizerEntry schedule_free_sgd() {
  return {"schedule_free_sgd",
          "Schedule-Free SGD (arXiv:2405.15682): validates at the mean of its points",
          {{"*", 1, "the authors' default"}},
          schedule_free_options("momentum") +
              std::vector{float_option("weight_decay", 0, 0, 1e6, "pulls y towards 0")},
          make_schedule_free<float, ScheduleFreeSgdRule>,
          make_schedule_free<double, ScheduleFreeSgdRule>};
}

}  // namespace thalweg::engine::optim
