// lamb: u = m^ / (sqrt(v^) + epsilon) + weight_decay w, as in AdamW;  w -= lr |w| / |u| u.
// You et al. 2020 (arXiv:1904.00962), as in NVIDIA apex (multi_tensor_lamb): the ratio is 1 where a
// norm is 0, and for biases and normalisation unless `exclude: false`.
#include "engine/optim/fused.h"
#include "engine/optim/norm.h"

namespace thalweg::engine::optim {
namespace {

/// Leaves u in the gradient's place.
template <class T>
struct Direction {
  using keeps_weights = void;
  using writes_gradient = void;
  T beta1, rest1, beta2, rest2, epsilon, decay, mean, root;
  THALWEG_FORMULA void operator()(T& w, T& g, T& m, T& v) const {
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    g = mean * m / (std::sqrt(v) * root + epsilon) + decay * w;
  }
};
THALWEG_FUSED(Direction, 2)

template <class T>
struct Step {
  T rate;
  THALWEG_FORMULA void operator()(T& w, T u) const { w -= rate * u; }
};
THALWEG_FUSED(Step, 0)

template <class T>
class Lamb final : public Optimizer<T> {
 public:
  Lamb(const OptimizerOptions& o, const Parameters<T>& p)
      : infos_(p.infos),
        beta1_(o.real("beta1")),
        beta2_(o.real("beta2")),
        epsilon_(o.real("epsilon")),
        decay_(o.real("weight_decay")),
        exclude_(o.flag("exclude")) {}
  int states() const override { return 2; }
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const ParameterInfo& info = infos_[static_cast<std::size_t>(s.parameter)];
    const double beta1 = c.momentum.value_or(beta1_), t = static_cast<double>(c.step + 1);
    const Direction<T> direction{T(beta1),
                                 T(1 - beta1),
                                 T(beta2_),
                                 T(1 - beta2_),
                                 T(epsilon_),
                                 info.decay ? T(decay_) : T(0),
                                 T(1 / (1 - std::pow(beta1, t))),
                                 T(1 / std::sqrt(1 - std::pow(beta2_, t)))};
    run(direction, stretch(s, x, 2));
    double ratio = 1;
    if (!exclude_ || !info.norm_or_bias) {
      const double w = norm(s.count, x.w + s.offset), u = norm(s.count, x.g + s.offset);
      if (w > 0 && u > 0) ratio = w / u;
    }
    run(Step<T>{T(c.lr * ratio)}, stretch(s, x, 0));
  }

 private:
  std::vector<ParameterInfo> infos_;
  double beta1_, beta2_, epsilon_, decay_;
  bool exclude_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make(const OptimizerOptions& o, const Parameters<T>& p) {
  return std::make_unique<Lamb<T>>(o, p);
}

}  // namespace

OptimizerEntry lamb() {
  return {
      "lamb",
      "LAMB (arXiv:1904.00962): AdamW's direction, each tensor's step in proportion to |w|; apex "
      "also clips: clip_norm 1",
      {{"bert*", 1.76e-3, "You et al. 2020, BERT at batch 512"},
       {"*", 1e-2, "good for batch 128 on Fashion-MNIST with a cosine; apex's default is 0.001"}},
      beta_options(0.9, 0.999) +
          std::vector{epsilon_option(1e-6),
                      real_option("weight_decay", 0.01, 0, 1e6, "decoupled weight decay"),
                      flag_option("exclude", true, "biases and normalisation take AdamW's step")},
      make<float>,
      make<double>};
}

}  // namespace thalweg::engine::optim
