// lars: each tensor's step in proportion to its own norm. L is the weight decay, eta `trust`.
//   paper (You et al. 2017, arXiv:1708.03888, algorithm 1): v = m v + lr r (g + L w);  w -= v;
//         r = eta |w| / (|g| + L |w|)
//   caffe (NVIDIA/caffe, sgd_solver, larc_policy scale): as paper, r = (1 - m) eta |w| / |g|
//   caffe_clip (larc_policy clip): as caffe, with min(lr, r) for lr r; so it is min(lr, 1) where a
//         norm is 0, as there (GetLocalRate, ComputeUpdateValue)
//   tpu (tensorflow/tpu, lars_optimizer.py, first version): v = m v + g;  w -= lr r v, with the
//         paper's r, where alone weight decay acts
// m is the scheduled momentum where there is one (one-cycle), in v and in r. r is 1 where a norm is
// 0. Biases and normalisation take plain momentum unless `exclude: false`.
// Where v sums steps, `correction` lets a changed lr act on all of v: m lr_new / lr_old instead of
// m (Goyal et al. 2017, remark 2).
#include "engine/optim/fused.h"
#include "engine/optim/norm.h"
#include "engine/optim/ratios.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct LarsFormula {
  T m, l2, inside, outside;
  THALWEG_FORMULA void operator()(T& w, T g, T& v) const {
    v = m * v + inside * (g + l2 * w);
    w = w - outside * v;
  }
};
THALWEG_FUSED(LarsFormula, 1)

enum class Variant { paper, caffe, caffe_clip, tpu };
constexpr const char* kVariants[] = {"paper", "caffe", "caffe_clip", "tpu"};

/// lr r of a tensor with these norms.
struct LocalRate {
  Variant variant;
  double momentum, trust, lr;
  THALWEG_HOST_DEVICE double operator()(double w, double g, double l2) const {
    const bool caffes = variant == Variant::caffe || variant == Variant::caffe_clip;
    double ratio = 1;
    if (w != 0 && g != 0)
      ratio = caffes ? (1 - momentum) * trust * w / g : trust * w / (g + l2 * w);
    if (variant == Variant::caffe_clip) return lr < ratio ? lr : ratio;
    return lr * ratio;
  }
};

struct LarsHyper {
  explicit LarsHyper(const Options& o)
      : momentum(o.real("momentum")),
        trust(o.real("trust")),
        decay(o.real("weight_decay")),
        exclude(o.flag("exclude")),
        correction(o.flag("correction")) {
    while (o.text("variant") != kVariants[static_cast<int>(variant)])
      variant = static_cast<Variant>(static_cast<int>(variant) + 1);
  }
  double momentum_of(const StepContext& c) const { return c.momentum.value_or(momentum); }
  LocalRate local_rate(const StepContext& c) const {
    return {variant, momentum_of(c), trust, c.lr};
  }
  /// `last`: lr of the step before.
  double factor_of_v(const StepContext& c, double last) const {
    const double m = momentum_of(c);
    return variant != Variant::tpu && correction && c.step > 0 && last > 0 ? m * (c.lr / last) : m;
  }
  bool plain(const ParameterInfo& info) const { return exclude && info.norm_or_bias; }
  double l2(bool decays) const { return decays ? decay : 0; }

  double momentum, trust, decay;
  bool exclude, correction;
  Variant variant = Variant::paper;
};

template <class T>
THALWEG_HOST_DEVICE LarsFormula<T> formula(Variant variant, T m, T l2, T rate) {
  return variant == Variant::tpu ? LarsFormula<T>{m, T(0), T(1), rate}
                                 : LarsFormula<T>{m, l2, rate, T(1)};
}

struct LarsFactors {
  LocalRate rate;
  float m;
};
struct LarsKeepRate {
  StepFactors<LarsFactors> factors;
  double decay;
  float* rates;
  THALWEG_HOST_DEVICE void operator()(int parameter, int choice, const double* squares) const {
    const LocalRate rate = (*factors).rate;
    const double l2 = (choice & kDecays) != 0 ? decay : 0;
    rates[parameter] = static_cast<float>(
        (choice & kPlain) != 0 ? rate.lr : rate(std::sqrt(squares[0]), std::sqrt(squares[1]), l2));
  }
};
struct FormulaByRate {
  StepFactors<LarsFactors> factors;
  float decay;
  const float* rates;
  THALWEG_HOST_DEVICE LarsFormula<float> operator()(const Chunk& chunk) const {
    const LarsFactors now = *factors;
    return formula(now.rate.variant, now.m, (chunk.choice & kDecays) != 0 ? decay : 0.0f,
                   rates[chunk.parameter]);
  }
};

class LarsOnGpu final : public ByFactors<LarsFactors> {
 public:
  LarsOnGpu(const LarsHyper& hyper, const std::vector<int>& choices, const GpuPlace& place)
      : hyper_(hyper), chunks_(place.gpu, place.infos, choices), ratios_(place.gpu, chunks_) {}
  bool writes_narrow() const override { return true; }

 private:
  LarsFactors factors(const StepContext& c, const OptimizerMemory<float>& x) const override {
    return {hyper_.local_rate(c),
            static_cast<float>(hyper_.factor_of_v(c, std::exchange(x.scalars[0], c.lr)))};
  }
  void put(gpu::Stream& stream, const StepFactors<LarsFactors>& f, const OptimizerMemory<float>& x,
           const GradientNotes& notes, gpu::Bf16* narrow) override {
    ratios_.add_squares(stream, chunks_, x);
    join_sums<2>(stream, chunks_, ratios_.partial(),
                 LarsKeepRate{f, hyper_.decay, ratios_.of_parameters()});
    run_pass<1>(stream, chunks_,
                FormulaByRate{f, static_cast<float>(hyper_.decay), ratios_.of_parameters()}, notes,
                x, nullptr, narrow);
  }

  LarsHyper hyper_;
  Chunks chunks_;
  Ratios ratios_;
};

template <class T>
class Lars final : public Optimizer<T> {
 public:
  Lars(const Options& o, const Parameters<T>& p) : infos_(p.infos), hyper_(o) {}
  int states() const override { return 1; }
  std::size_t scalars() const override { return 1; }  // lr of the step before
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const ParameterInfo& info = infos_[static_cast<std::size_t>(s.parameter)];
    const double l2 = hyper_.l2(info.decay);
    const double rate = hyper_.plain(info)
                            ? c.lr
                            : hyper_.local_rate(c)(norm(s.count, x.w + s.offset),
                                                   norm(s.count, x.g + s.offset), l2);
    run(formula(hyper_.variant, T(hyper_.factor_of_v(c, x.scalars[0])), T(l2), T(rate)),
        flat_range(s, x, 1));
  }
  void finish(const StepContext& c, const OptimizerMemory<T>& x) const override {
    x.scalars[0] = c.lr;
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    if constexpr (std::is_same_v<T, double>) return Optimizer<T>::on_gpu(place);
    std::vector<int> choices;
    for (const ParameterInfo& info : infos_)
      choices.push_back(ratio_choice(info, hyper_.plain(info)));
    return std::make_unique<LarsOnGpu>(hyper_, choices, place);
  }

 private:
  std::vector<ParameterInfo> infos_;
  LarsHyper hyper_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_lars(const Options& o, const Parameters<T>& p) {
  return std::make_unique<Lars<T>>(o, p);
}

}  // namespace

OptimizerEntry lars() {
  return {
      "lars",
      "LARS (arXiv:1708.03888): momentum whose rate follows each tensor's |w| / |g|",
      {{"resnet*", 10, "You et al. 2017 and MLPerf, ResNet-50 at large batches with warm-up"},
       {"*", 10, "with trust 0.001 and a decaying schedule (You et al. 2017)"}},
      {choice_option("variant", {kVariants[0], kVariants[1], kVariants[2], kVariants[3]},
                     "whose formula: the paper's, NVIDIA Caffe's (scale or clip) or the TPU one"),
       momentum_option(), float_option("trust", 0.001, 0, 1, "eta, size of a step next to |w|"),
       flag_option("exclude", true, "biases and normalisation take plain momentum"),
       flag_option("correction", true,
                   "a changed lr acts on the whole velocity at once (momentum correction)"),
       float_option("weight_decay", 1e-4, 0, 1e6, "L2 term, also in the ratio")},
      make_lars<float>,
      make_lars<double>};
}

}  // namespace thalweg::engine::optim
