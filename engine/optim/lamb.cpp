// lamb: u = m^ / (sqrt(v^) + epsilon) + weight_decay w, as in AdamW;  w -= lr |w| / |u| u.
// You et al. 2020 (arXiv:1904.00962), as in NVIDIA apex (multi_tensor_lamb): the ratio is 1 where a
// norm is 0, and for biases and normalisation unless `exclude: false`. It stays at weight_decay 0
// (apex: use_nvlamb).
#include "engine/optim/fused.h"
#include "engine/optim/norm.h"
#include "engine/optim/ratios.h"

namespace thalweg::engine::optim {
namespace {

/// Leaves u in the gradient's place.
template <class T>
struct LambDirection {
  using keeps_weights = void;
  using writes_gradient = void;
  T beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, decay, mean, root;
  THALWEG_FORMULA void operator()(T& w, T& g, T& m, T& v) const {
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    g = mean * m / (std::sqrt(v) * root + epsilon) + decay * w;
  }
};
THALWEG_FUSED(LambDirection, 2)

template <class T>
struct LambStep {
  T rate;
  THALWEG_FORMULA void operator()(T& w, T u) const { w -= rate * u; }
};
THALWEG_FUSED(LambStep, 0)

struct LambHyper {
  explicit LambHyper(const Options& o)
      : beta1(o.real("beta1")),
        beta2(o.real("beta2")),
        epsilon(o.real("epsilon")),
        decay(o.real("weight_decay")),
        exclude(o.flag("exclude")) {}
  template <class T>
  LambDirection<T> direction(const StepContext& c, bool decays) const {
    const double b1 = c.momentum.value_or(beta1), t = static_cast<double>(c.step + 1);
    return {T(b1),
            T(1 - b1),
            T(beta2),
            T(1 - beta2),
            T(epsilon),
            decays ? T(decay) : T(0),
            T(1 / (1 - std::pow(b1, t))),
            T(1 / std::sqrt(1 - std::pow(beta2, t)))};
  }
  bool plain(const ParameterInfo& info) const { return exclude && info.norm_or_bias; }
  double beta1, beta2, epsilon, decay;
  bool exclude;
};

THALWEG_HOST_DEVICE inline double trust_ratio(double w, double u) {
  return w > 0 && u > 0 ? w / u : 1;
}

struct LambFactors {
  ByDecay<LambDirection<float>> direction;
  double lr;
};
struct LambKeepRate {
  StepFactors<double> lr;
  float* rates;
  THALWEG_HOST_DEVICE void operator()(int parameter, int choice, const double* squares) const {
    const double ratio =
        (choice & kPlain) != 0 ? 1 : trust_ratio(std::sqrt(squares[0]), std::sqrt(squares[1]));
    rates[parameter] = static_cast<float>(*lr * ratio);
  }
};
struct LambStepByRate {
  const float* rates;
  THALWEG_HOST_DEVICE LambStep<float> operator()(const Chunk& chunk) const {
    return {rates[chunk.parameter]};
  }
};

class LambOnGpu final : public ByFactors<LambFactors> {
 public:
  LambOnGpu(const LambHyper& hyper, const std::vector<int>& choices, const GpuPlace& place)
      : hyper_(hyper), chunks_(place.gpu, place.infos, choices), ratios_(place.gpu, chunks_) {}
  bool writes_narrow() const override { return true; }

 private:
  LambFactors factors(const StepContext& c, const OptimizerMemory<float>&) const override {
    return {{hyper_.direction<float>(c, false), hyper_.direction<float>(c, true)}, c.lr};
  }
  void put(gpu::Stream& stream, const StepFactors<LambFactors>& f, const OptimizerMemory<float>& x,
           const GradientNotes& notes, gpu::Bf16* narrow) override {
    run_pass<2, BothSquares>(stream, chunks_, by_decay(f.part(&LambFactors::direction)), notes, x,
                             ratios_.partial());
    join_sums<2>(stream, chunks_, ratios_.partial(),
                 LambKeepRate{f.part(&LambFactors::lr), ratios_.of_parameters()});
    run_pass<0>(stream, chunks_, LambStepByRate{ratios_.of_parameters()}, notes, x, nullptr,
                narrow);
  }

  LambHyper hyper_;
  Chunks chunks_;
  Ratios ratios_;
};

template <class T>
class Lamb final : public Optimizer<T> {
 public:
  Lamb(const Options& o, const Parameters<T>& p) : infos_(p.infos), hyper_(o) {}
  int states() const override { return 2; }
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const ParameterInfo& info = infos_[static_cast<std::size_t>(s.parameter)];
    run(hyper_.direction<T>(c, info.decay), flat_range(s, x, 2));
    double ratio = 1;
    if (!hyper_.plain(info))
      ratio = trust_ratio(norm(s.count, x.w + s.offset), norm(s.count, x.g + s.offset));
    run(LambStep<T>{T(c.lr * ratio)}, flat_range(s, x, 0));
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    if constexpr (std::is_same_v<T, double>) return Optimizer<T>::on_gpu(place);
    std::vector<int> choices;
    for (const ParameterInfo& info : infos_)
      choices.push_back(ratio_choice(info, hyper_.plain(info)));
    return std::make_unique<LambOnGpu>(hyper_, choices, place);
  }

 private:
  std::vector<ParameterInfo> infos_;
  LambHyper hyper_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_lamb(const Options& o, const Parameters<T>& p) {
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
          std::vector{
              epsilon_option(1e-6),
              float_option("weight_decay", 0.01, 0, 1e6,
                           "decoupled weight decay; at 0, steps are still in proportion to |w|"),
              flag_option("exclude", true, "biases and normalisation take AdamW's step")},
      make_lamb<float>,
      make_lamb<double>};
}

}  // namespace thalweg::engine::optim
