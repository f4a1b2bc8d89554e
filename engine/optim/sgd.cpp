// sgd: w -= lr g.
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct SgdFormula {
  T lr, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g) const {
    g += l2 * w;
    w = keep * w - lr * g;
  }
};
THALWEG_FUSED(SgdFormula, 0)

struct SgdRule {
  static constexpr int states = 0;
  explicit SgdRule(const Options& o) : decay(o) {}
  template <class T>
  SgdFormula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    return {T(c.lr), T(decay.l2(on)), T(decay.keep(c.lr, on))};
  }
  Decay decay;
};

}  // namespace

OptimizerEntry sgd() {
  return {"sgd",
          "stochastic gradient descent: w -= lr g",
          {{"*", 0.1, "a common start for plain SGD at batch 128"}},
          decay_options(0, false),
          make_fused<float, SgdRule>,
          make_fused<double, SgdRule>};
}

}  // namespace thalweg::engine::optim
