// lars: each tensor's step in proportion to its own norm. L is the weight decay, eta `trust`.
//   paper (You et al. 2017, arXiv:1708.03888, algorithm 1): v = m v + lr r (g + L w);  w -= v;
//         r = eta |w| / (|g| + L |w|)
//   caffe (NVIDIA/caffe, sgd_solver, larc_policy scale): as paper, r = (1 - m) eta |w| / |g|
//   caffe_clip (larc_policy clip): as caffe, with min(lr, r) for lr r
//   tpu (tensorflow/tpu, lars_optimizer.py, first version): v = m v + g;  w -= lr r v, with the
//         paper's r, where alone weight decay acts
// r is 1 where a norm is 0. Biases and normalisation take plain momentum unless `exclude: false`.
// Where v sums steps, `correction` lets a changed lr act on all of v: m lr_new / lr_old instead of
// m (Goyal et al. 2017, remark 2).
#include <algorithm>

#include "engine/optim/fused.h"
#include "engine/optim/norm.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct Formula {
  T m, l2, inside, outside;
  THALWEG_FORMULA void operator()(T& w, T g, T& v) const {
    v = m * v + inside * (g + l2 * w);
    w = w - outside * v;
  }
};
THALWEG_FUSED(Formula, 1)

enum class Variant { paper, caffe, caffe_clip, tpu };
constexpr const char* kVariants[] = {"paper", "caffe", "caffe_clip", "tpu"};

template <class T>
class Lars final : public Optimizer<T> {
 public:
  Lars(const OptimizerOptions& o, const Parameters<T>& p)
      : infos_(p.infos),
        momentum_(o.real("momentum")),
        trust_(o.real("trust")),
        decay_(o.real("weight_decay")),
        exclude_(o.flag("exclude")),
        correction_(o.flag("correction")) {
    while (o.text("variant") != kVariants[static_cast<int>(variant_)])
      variant_ = static_cast<Variant>(static_cast<int>(variant_) + 1);
  }
  int states() const override { return 1; }
  std::size_t scalars() const override { return 1; }  // lr of the step before
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const ParameterInfo& info = infos_[static_cast<std::size_t>(s.parameter)];
    const double l2 = info.decay ? decay_ : 0;
    const bool plain = exclude_ && info.norm_or_bias;
    const double rate =
        plain ? c.lr
              : local_rate(c.lr, norm(s.count, x.w + s.offset), norm(s.count, x.g + s.offset), l2);
    double m = momentum(c);
    Formula<T> f{};
    if (variant_ == Variant::tpu) {
      f = {T(m), T(0), T(1), T(rate)};
    } else {
      if (correction_ && c.step > 0 && x.scalars[0] > 0) m *= c.lr / x.scalars[0];
      f = {T(m), T(l2), T(rate), T(1)};
    }
    run(f, stretch(s, x, 1));
  }
  void finish(const StepContext& c, const OptimizerMemory<T>& x) const override {
    x.scalars[0] = c.lr;
  }

 private:
  double momentum(const StepContext& c) const { return c.momentum.value_or(momentum_); }
  double local_rate(double lr, double w, double g, double l2) const {
    if (w == 0 || g == 0) return lr;
    switch (variant_) {
      case Variant::caffe:
        return lr * (1 - momentum_) * trust_ * w / g;
      case Variant::caffe_clip:
        return std::min(lr, (1 - momentum_) * trust_ * w / g);
      case Variant::paper:
      case Variant::tpu:
        break;
    }
    return lr * trust_ * w / (g + l2 * w);
  }

  std::vector<ParameterInfo> infos_;
  double momentum_, trust_, decay_;
  bool exclude_, correction_;
  Variant variant_ = Variant::paper;
};

template <class T>
std::unique_ptr<Optimizer<T>> make(const OptimizerOptions& o, const Parameters<T>& p) {
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
       momentum_option(), real_option("trust", 0.001, 0, 1, "eta, size of a step next to |w|"),
       flag_option("exclude", true, "biases and normalisation take plain momentum"),
       flag_option("correction", true,
                   "a changed lr acts on the whole velocity at once (momentum correction)"),
       real_option("weight_decay", 1e-4, 0, 1e6, "L2 term, also in the ratio")},
      make<float>,
      make<double>};
}

}  // namespace thalweg::engine::optim
