// sgd: w -= lr g.
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct Formula {
  T lr, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g) const {
    g += l2 * w;
    w = keep * w - lr * g;
  }
};
THALWEG_FUSED(Formula, 0)

struct Rule {
  static constexpr int states = 0;
  explicit Rule(const Options& o) : decay(o) {}
  template <class T>
  Formula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
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
          make_fused<float, Rule>,
          make_fused<double, Rule>};
}

}  // namespace thalweg::engine::optim
