// adagrad: s += g^2;  w -= lr / (1 + t lr_decay) g / (sqrt(s) + epsilon), t from 0.
// Duchi et al. 2011 (JMLR 12), as in PyTorch (torch/optim/adagrad.py).
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct AdagradFormula {
  T step, epsilon, l2, keep, initial;
  THALWEG_FORMULA void operator()(T& w, T g, T& s) const {
    g += l2 * w;
    s += g * g;
    w = keep * w - step * g / (std::sqrt(s + initial) + epsilon);
  }
};
THALWEG_FUSED(AdagradFormula, 1)

struct AdagradRule {
  static constexpr int states = 1;
  explicit AdagradRule(const Options& o)
      : lr_decay(o.real("lr_decay")),
        initial(o.real("initial")),
        epsilon(o.real("epsilon")),
        decay(o) {}
  template <class T>
  AdagradFormula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    return {T(c.lr / (1 + static_cast<double>(c.step) * lr_decay)), T(epsilon), T(decay.l2(on)),
            T(decay.keep(c.lr, on)), T(initial)};
  }
  double lr_decay, initial, epsilon;
  Decay decay;
};

}  // namespace

OptimizerEntry adagrad() {
  return {"adagrad",
          "Adagrad (Duchi et al. 2011): divided by the root of all squares so far",
          {{"*", 1e-2, "PyTorch's default"}},
          std::vector{float_option("lr_decay", 0, 0, 1, "lr falls as 1 / (1 + step * this)"),
                      float_option("initial", 0, 0, 1e6, "where the sums of squares start"),
                      epsilon_option(1e-10)} +
              decay_options(0, false),
          make_fused<float, AdagradRule>,
          make_fused<double, AdagradRule>};
}

}  // namespace thalweg::engine::optim
