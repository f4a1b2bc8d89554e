// momentum: v = m v + (1 - dampening) g;  w -= lr v.
// Source: PyTorch's SGD (torch/optim/sgd.py), whose velocity starts as the first gradient.
//
// Where v sums lr-scaled gradients instead (Caffe, Keras), a changed lr needs momentum correction,
// m_eff = m lr_new / lr_old (Goyal et al. 2017, arXiv:1706.02677, remark 2). Summing plain
// gradients and scaling the sum is the same as correcting; `correction: false` sums scaled ones.
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct MomentumFormula {
  T m, inside, outside, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g, T& v) const {
    g += l2 * w;
    v = m * v + inside * g;
    w = keep * w - outside * v;
  }
};
THALWEG_FUSED(MomentumFormula, 1)

struct MomentumRule {
  static constexpr int states = 1;
  explicit MomentumRule(const Options& o)
      : momentum(o.real("momentum")),
        dampening(o.real("dampening")),
        correction(o.flag("correction")),
        decay(o) {}
  template <class T>
  MomentumFormula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    const double fresh = c.step == 0 ? 1 : 1 - dampening;  // the velocity starts undampened
    return {T(c.momentum.value_or(momentum)), T(correction ? fresh : c.lr * fresh),
            T(correction ? c.lr : 1), T(decay.l2(on)), T(decay.keep(c.lr, on))};
  }
  double momentum, dampening;
  bool correction;
  Decay decay;
};

}  // namespace

OptimizerEntry momentum() {
  return {
      "momentum",
      "SGD with heavy-ball momentum: v = m v + g; w -= lr v",
      {{"resnet*", 0.1, "Goyal et al. 2017, for batch 256 and warm-up"},
       {"cosmoflow*", 1e-3, "the MLPerf HPC reference, for batch 64 (mlcommons/hpc)"},
       {"*", 0.02, "good for batch 128 on Fashion-MNIST, constant or cosine"}},
      std::vector<jobspec::Option>{
          momentum_option(),
          float_option("dampening", 0, 0, 1, "how much of the new gradient is left out"),
          flag_option("correction", true,
                      "a changed lr acts on the whole velocity at once (momentum correction)")} +
          decay_options(0, false),
      make_fused<float, MomentumRule>,
      make_fused<double, MomentumRule>};
}

}  // namespace thalweg::engine::optim
