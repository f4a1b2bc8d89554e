// dadapt_adam: Adam whose rate is d lr, with d from the weighted sum of gradients:
//   b = d lr;   n' = b <g, s / (sqrt(v) + epsilon)>, with s and v of the step before
//   m = beta1 m + (1 - beta1) b g;   v = beta2 v + (1 - beta2) g^2;   s = q s + (1 - q) b g
//   n = q n + (1 - q) n';   d = max(d, min(n / ((1 - q) |s|_1), d growth)), q = sqrt(beta2)
//   w -= m / (sqrt(v) + epsilon)                             (n, |s|: all parameters together,
// or those of a group: each has its own d)
// Defazio & Mishchenko 2023 (arXiv:2301.07733), as in facebookresearch/dadaptation.
#include <algorithm>
#include <optional>

#include "engine/optim/distance_on_gpu.h"
#include "engine/optim/fused.h"
#include "engine/optim/norm.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct DadaptGather {
  using keeps_weights = void;
  using writes_gradient = void;
  T beta1, one_minus_beta1, beta2, one_minus_beta2, q, one_minus_q;
  THALWEG_FORMULA void operator()(T&, T& g, T& m, T& v, T& s) const {
    m = beta1 * m + one_minus_beta1 * g;
    v = beta2 * v + one_minus_beta2 * g * g;
    s = q * s + one_minus_q * g;
  }
};
THALWEG_FUSED(DadaptGather, 3)

template <class T>
struct Coupled {
  using keeps_weights = void;
  using writes_gradient = void;
  T l2;
  THALWEG_FORMULA void operator()(T& w, T& g) const { g += l2 * w; }
};
THALWEG_FUSED(Coupled, 0)

template <class T>
struct DadaptStep {
  T epsilon, keep;
  THALWEG_FORMULA void operator()(T& w, T, T& m, T& v) const {
    w = keep * w - m / (std::sqrt(v) + epsilon);
  }
};
THALWEG_FUSED(DadaptStep, 2)

THALWEG_SUM(weighted,
            (std::size_t n, const float* g, const float* s, const float* v, double epsilon),
            static_cast<double>(g[i]) * static_cast<double>(s[i]) /
                (std::sqrt(static_cast<double>(v[i])) + epsilon))
THALWEG_SUM(weighted,
            (std::size_t n, const double* g, const double* s, const double* v, double epsilon),
            g[i] * s[i] / (std::sqrt(v[i]) + epsilon))

struct WeightedTerm {
  double epsilon;
  THALWEG_HOST_DEVICE double operator()(double g, double s, double v) const {
    return g * s / (std::sqrt(v) + epsilon);
  }
};

template <class T>
class DadaptAdam final : public Optimizer<T> {
 public:
  DadaptAdam(const Options& o, const Parameters<T>& p)
      : infos_(p.infos),
        beta1_(o.real("beta1")),
        beta2_(o.real("beta2")),
        q_(std::sqrt(beta2_)),
        epsilon_(o.real("epsilon")),
        d0_(o.real("d0")),
        growth_(o.real("growth_rate")),
        bias_correction_(o.flag("bias_correction")),
        decay_(o) {}
  int states() const override { return 3; }  // m, v, s
  // The global ones, then two sums of each parameter's.
  std::size_t scalars() const override { return kGlobals + 2 * infos_.size(); }
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& seg,
              const OptimizerMemory<T>& x) const override {
    if (c.lr == 0) return;
    if (const double l2 = decay_.l2(decays(seg.parameter)); l2 > 0)
      run(Coupled<T>{T(l2)}, flat_range(seg, x, 0));
    double* sums = &x.scalars[kGlobals + 2 * static_cast<std::size_t>(seg.parameter)];
    sums[0] = step_size(c, x) * weighted(seg.count, x.g + seg.offset, x.states[2] + seg.offset,
                                         x.states[1] + seg.offset, epsilon_);
    run(gather(c, x), flat_range(seg, x, 3));
    sums[1] = sum_of_sizes(seg.count, x.states[2] + seg.offset);
  }

  void finish(const StepContext& c, const OptimizerMemory<T>& x) const override {
    if (c.lr == 0) return;
    const std::optional<double> rate = advance(c, x);
    if (!rate) return;
    for (std::size_t p = 0; p < infos_.size(); ++p) {
      double* sums = &x.scalars[kGlobals + 2 * p];
      if (sums[1] == 0) continue;  // not updated in this step
      sums[0] = sums[1] = 0;
      const int parameter = static_cast<int>(p);
      run(step(*rate, decays(parameter)),
          flat_range({parameter, infos_[p].offset, infos_[p].count}, x, 2));
    }
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    if constexpr (std::is_same_v<T, float>)
      return std::make_unique<DistanceOnGpu<DadaptAdam>>(*this, place);
    else
      return Optimizer<T>::on_gpu(place);
  }

  enum Global : std::size_t { kDistance, kNumerator, kCount, kGlobals };

  bool decays(int p) const { return infos_[static_cast<std::size_t>(p)].decay; }
  DadaptGather<T> gather(const StepContext& c, const OptimizerMemory<T>& x) const {
    const double rate = step_size(c, x), beta1 = c.momentum.value_or(beta1_);
    return {T(beta1), T(rate * (1 - beta1)), T(beta2_), T(1 - beta2_), T(q_), T(rate * (1 - q_))};
  }
  DadaptStep<T> step(double rate, bool on) const { return {T(epsilon_), T(decay_.keep(rate, on))}; }
  void gather_on_gpu(gpu::Stream& stream, const Chunks& chunks, PairSums& sums,
                     const StepContext& c, const OptimizerMemory<float>& x,
                     const GradientNotes& notes) const {
    if (const double l2 = decay_.l2(true); l2 > 0)
      run_pass<0>(stream, chunks, ByDecay<Coupled<float>>{{0}, {static_cast<float>(l2)}}, notes, x);
    sums.add(stream, chunks, 0, WeightedTerm{epsilon_}, notes, x.g, x.states[2], x.states[1]);
    run_pass<3>(stream, chunks, Always<DadaptGather<float>>{gather(c, x)}, notes, x);
    sums.add(stream, chunks, 1, SizeTerm(), notes, x.states[2]);
  }
  double weight(const StepContext& c, const OptimizerMemory<T>& x) const { return step_size(c, x); }
  /// From all parameters' sums to the next distance: the step's rate. Nothing where there was no
  /// gradient so far.
  std::optional<double> advance(const StepContext& c, const OptimizerMemory<T>& x) const {
    double sum = 0, length = 0;
    for (std::size_t p = 0; p < infos_.size(); ++p) {
      sum += x.scalars[kGlobals + 2 * p];
      length += x.scalars[kGlobals + 2 * p + 1];
    }
    if (length == 0) return {};
    const double rate = step_size(c, x), d = distance(x);
    const double numerator = q_ * x.scalars[kNumerator] + (1 - q_) * sum;
    double estimate = numerator / ((1 - q_) * length);
    if (growth_ > 0) estimate = std::min(estimate, d * growth_);
    x.scalars[kNumerator] = numerator;
    x.scalars[kDistance] = std::max(d, estimate);
    x.scalars[kCount] += 1;
    return rate;
  }
  double step_size(const StepContext& c, const OptimizerMemory<T>& x) const {
    const double t = x.scalars[kCount] + 1, beta1 = c.momentum.value_or(beta1_);
    const double correction =
        bias_correction_ ? std::sqrt(1 - std::pow(beta2_, t)) / (1 - std::pow(beta1, t)) : 1;
    return distance(x) * c.lr * correction;
  }

 private:
  double distance(const OptimizerMemory<T>& x) const {
    return x.scalars[kCount] == 0 ? d0_ : x.scalars[kDistance];
  }

  std::vector<ParameterInfo> infos_;
  double beta1_, beta2_, q_, epsilon_, d0_, growth_;
  bool bias_correction_;
  Decay decay_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_dadapt_adam(const Options& o, const Parameters<T>& p) {
  return std::make_unique<DadaptAdam<T>>(o, p);
}

}  // namespace

OptimizerEntry dadapt_adam() {
  return {
      "dadapt_adam",
      "D-Adaptation Adam (arXiv:2301.07733): finds its own rate; each of optimizer.groups one of "
      "its own",
      {{"*", 1, "the authors' default: the rate is d times lr"}},
      beta_options(0.9, 0.999) +
          std::vector{epsilon_option(1e-8), float_option("d0", 1e-6, 1e-30, 1e6, "first distance"),
                      float_option("growth_rate", 0, 0, 1e6,
                                   "largest growth of the distance in a step; 0 = any"),
                      flag_option("bias_correction", false, "correct the means as Adam does")} +
          decay_options(0, false),
      make_dadapt_adam<float>,
      make_dadapt_adam<double>};
}

}  // namespace thalweg::engine::optim
