// prodigy: Adam whose rate is d lr, where d estimates the distance from the start to the solution:
//   m = beta1 m + (1 - beta1) d g;   v = beta2 v + (1 - beta2) d^2 g^2;   b = d lr
//   n = beta3 n + d / d0 b <g, w0 - w>;   s = beta3 s + d / d0 b g     (all parameters together)
//   e = d_coef n / |s|_1;   d = e if it is the first growth;   d = min(max of all e, d growth)
//   w -= b m / (sqrt(v) + d epsilon), with the new d beside epsilon
// Mishchenko & Defazio 2023 (arXiv:2306.06101), as in konstmish/prodigy. beta3: sqrt(beta2).
#include <algorithm>
#include <optional>

#include "engine/optim/distance_on_gpu.h"
#include "engine/optim/fused.h"
#include "engine/optim/norm.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct ProdigyGather {
  using keeps_weights = void;
  using writes_gradient = void;
  T beta1, one_minus_beta1, beta2, one_minus_beta2, beta3, s_coefficient, l2;
  bool first;
  THALWEG_FORMULA void operator()(T& w, T& g, T& m, T& v, T& s, T& start) const {
    start = first ? w : start;
    g += l2 * w;
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    s = beta3 * s + s_coefficient * g;
  }
};
THALWEG_FUSED(ProdigyGather, 4)

template <class T>
struct ProdigyStep {
  T rate, epsilon, keep;
  THALWEG_FORMULA void operator()(T& w, T, T& m, T& v) const {
    w = keep * w - rate * m / (std::sqrt(v) + epsilon);
  }
};
THALWEG_FUSED(ProdigyStep, 2)

THALWEG_SUM(progress, (std::size_t n, const float* g, const float* start, const float* w),
            static_cast<double>(g[i]) * (static_cast<double>(start[i]) - static_cast<double>(w[i])))
THALWEG_SUM(progress, (std::size_t n, const double* g, const double* start, const double* w),
            g[i] * (start[i] - w[i]))

struct ProgressTerm {
  THALWEG_HOST_DEVICE double operator()(double g, double start, double w) const {
    return g * (start - w);
  }
};

template <class T>
class Prodigy final : public Optimizer<T> {
 public:
  Prodigy(const Options& o, const Parameters<T>& p)
      : infos_(p.infos),
        beta1_(o.real("beta1")),
        beta2_(o.real("beta2")),
        beta3_(o.real("beta3") > 0 ? o.real("beta3") : std::sqrt(beta2_)),
        epsilon_(o.real("epsilon")),
        d0_(o.real("d0")),
        d_coef_(o.real("d_coef")),
        growth_(o.real("growth_rate")),
        bias_correction_(o.flag("bias_correction")),
        safeguard_(o.flag("safeguard_warmup")),
        decay_(o) {}
  int states() const override { return 4; }  // m, v, s, w0
  // The global ones, then two sums of each parameter's.
  std::size_t scalars() const override { return kGlobals + 2 * infos_.size(); }
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& seg,
              const OptimizerMemory<T>& x) const override {
    if (c.lr == 0) return;
    run(gather(c, x, decays(seg.parameter)), flat_range(seg, x, 4));
    double* sums = &x.scalars[kGlobals + 2 * static_cast<std::size_t>(seg.parameter)];
    sums[0] = weight(c, x) *
              progress(seg.count, x.g + seg.offset, x.states[3] + seg.offset, x.w + seg.offset);
    sums[1] = sum_of_sizes(seg.count, x.states[2] + seg.offset);
  }

  void finish(const StepContext& c, const OptimizerMemory<T>& x) const override {
    if (c.lr == 0) return;
    const std::optional<Factors> factors = advance(c, x);
    if (!factors) return;
    for (std::size_t p = 0; p < infos_.size(); ++p) {
      double* sums = &x.scalars[kGlobals + 2 * p];
      if (sums[1] == 0) continue;  // not updated in this step
      sums[0] = sums[1] = 0;
      const int parameter = static_cast<int>(p);
      run(step(*factors, decays(parameter)),
          flat_range({parameter, infos_[p].offset, infos_[p].count}, x, 2));
    }
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    if constexpr (std::is_same_v<T, float>)
      return std::make_unique<DistanceOnGpu<Prodigy>>(*this, place);
    else
      return Optimizer<T>::on_gpu(place);
  }

  enum Global : std::size_t { kDistance, kLargest, kNumerator, kCount, kGlobals };
  struct Factors {
    double rate, epsilon;
  };

  bool decays(int p) const { return infos_[static_cast<std::size_t>(p)].decay; }
  ProdigyGather<T> gather(const StepContext& c, const OptimizerMemory<T>& x, bool on) const {
    const double d = distance(x), rate = step_size(c, x), beta1 = c.momentum.value_or(beta1_);
    return {T(beta1),         T(d * (1 - beta1)),
            T(beta2_),        T(d * d * (1 - beta2_)),
            T(beta3_),        T(d / d0_ * (safeguard_ ? d : rate)),
            T(decay_.l2(on)), x.scalars[kCount] == 0};
  }
  /// Of <g, w0 - w> in the first sums.
  double weight(const StepContext& c, const OptimizerMemory<T>& x) const {
    return distance(x) / d0_ * step_size(c, x);
  }
  ProdigyStep<T> step(const Factors& f, bool on) const {
    return {T(f.rate), T(f.epsilon), T(decay_.keep(f.rate, on))};
  }
  void gather_on_gpu(gpu::Stream& stream, const Chunks& chunks, PairSums& sums,
                     const StepContext& c, const OptimizerMemory<float>& x,
                     const GradientNotes& notes) const {
    run_pass<4>(stream, chunks,
                ByDecay<ProdigyGather<float>>{gather(c, x, false), gather(c, x, true)}, notes, x);
    sums.add(stream, chunks, 0, ProgressTerm(), notes, x.g, x.states[3], x.w);
    sums.add(stream, chunks, 1, SizeTerm(), notes, x.states[2]);
  }
  /// From all parameters' sums to the next distance. Nothing where there was no gradient so far.
  std::optional<Factors> advance(const StepContext& c, const OptimizerMemory<T>& x) const {
    double gained = 0, length = 0;
    for (std::size_t p = 0; p < infos_.size(); ++p) {
      gained += x.scalars[kGlobals + 2 * p];
      length += x.scalars[kGlobals + 2 * p + 1];
    }
    if (length == 0) return {};
    const double rate = step_size(c, x);
    double d = distance(x);
    const double numerator = beta3_ * x.scalars[kNumerator] + gained;
    const double estimate = d_coef_ * numerator / length;
    if (d == d0_) d = std::max(d, estimate);
    const double largest = std::max({x.scalars[kLargest], d0_, estimate});
    d = growth_ > 0 ? std::min(largest, d * growth_) : largest;
    x.scalars[kNumerator] = numerator;
    x.scalars[kLargest] = largest;
    x.scalars[kDistance] = d;
    x.scalars[kCount] += 1;
    return Factors{rate, d * epsilon_};
  }

 private:
  double distance(const OptimizerMemory<T>& x) const {
    return x.scalars[kCount] == 0 ? d0_ : x.scalars[kDistance];
  }
  /// Of the distance before this step.
  double step_size(const StepContext& c, const OptimizerMemory<T>& x) const {
    const double t = x.scalars[kCount] + 1, beta1 = c.momentum.value_or(beta1_);
    const double correction =
        bias_correction_ ? std::sqrt(1 - std::pow(beta2_, t)) / (1 - std::pow(beta1, t)) : 1;
    return distance(x) * c.lr * correction;
  }

  std::vector<ParameterInfo> infos_;
  double beta1_, beta2_, beta3_, epsilon_, d0_, d_coef_, growth_;
  bool bias_correction_, safeguard_;
  Decay decay_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_prodigy(const Options& o, const Parameters<T>& p) {
  return std::make_unique<Prodigy<T>>(o, p);
}

}  // namespace

OptimizerEntry prodigy() {
  return {
      "prodigy",
      "Prodigy (arXiv:2306.06101): Adam that finds its own rate; each group of parameters its own",
      {{"*", 1, "the authors' default: the rate is d times lr"}},
      beta_options(0.9, 0.999) +
          std::vector{float_option("beta3", 0, 0, 0.99999999, "decay of the sums; 0 = sqrt(beta2)"),
                      epsilon_option(1e-8), float_option("d0", 1e-6, 1e-30, 1e6, "first distance"),
                      float_option("d_coef", 1, 0, 1e6, "factor of the estimated distance"),
                      float_option("growth_rate", 0, 0, 1e6,
                                   "largest growth of the distance in a step; 0 = any"),
                      flag_option("bias_correction", false, "correct the means as Adam does"),
                      flag_option("safeguard_warmup", false,
                                  "keep lr out of the sums: for long warm-ups")} +
          decay_options(0, true),
      make_prodigy<float>,
      make_prodigy<double>};
}

}  // namespace thalweg::engine::optim
