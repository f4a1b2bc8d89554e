// nesterov: v = m v + g;  w -= lr (g + m v).
// Source: PyTorch's SGD (torch/optim/sgd.py), whose velocity starts as the first gradient.
// `correction`: as in momentum.cpp.
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct NesterovFormula {
  T m, inside, outside, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g, T& v) const {
    g = inside * (g + l2 * w);
    v = m * v + g;
    w = keep * w - outside * (g + m * v);
  }
};
THALWEG_FUSED(NesterovFormula, 1)

struct NesterovRule {
  static constexpr int states = 1;
  explicit NesterovRule(const Options& o)
      : momentum(o.real("momentum")), correction(o.flag("correction")), decay(o) {}
  template <class T>
  NesterovFormula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    return {T(c.momentum.value_or(momentum)), T(correction ? 1 : c.lr), T(correction ? c.lr : 1),
            T(decay.l2(on)), T(decay.keep(c.lr, on))};
  }
  double momentum;
  bool correction;
  Decay decay;
};

}  // namespace

OptimizerEntry nesterov() {
  return {
      "nesterov",
      "SGD with Nesterov momentum: v = m v + g; w -= lr (g + m v)",
      {{"resnet*", 0.1, "Goyal et al. 2017, for batch 256 and warm-up"},
       {"cosmoflow*", 1e-3, "the MLPerf HPC reference, for batch 64 (mlcommons/hpc)"},
       {"*", 0.02, "good for batch 128 on Fashion-MNIST, constant or cosine"}},
      std::vector<jobspec::Option>{
          momentum_option(),
          flag_option("correction", true,
                      "a changed lr acts on the whole velocity at once (momentum correction)")} +
          decay_options(0, false),
      make_fused<float, NesterovRule>,
      make_fused<double, NesterovRule>};
}

}  // namespace thalweg::engine::optim
