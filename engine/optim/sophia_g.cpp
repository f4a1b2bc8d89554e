// sophia_g: m = beta1 m + (1 - beta1) g;
//   w -= lr sign(m) min(|m| / (rho batch h + 1e-15), 1), after w's decay;
// every `every` steps h = beta2 h + (1 - beta2) ĝ², where ĝ is the mean gradient for labels that
// are drawn from the model's own predictions (the Gauss-Newton-Bartlett estimate of the curvature).
// Liu et al. 2023 (arXiv:2305.14342), as in Liuhong99/Sophia.
#include "engine/optim/fused.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct SophiaFormula {
  T lr, beta1, one_minus_beta1, h_coefficient, l2, keep;
  THALWEG_FORMULA void operator()(T& w, T g, T& m, T& h) const {
    g += l2 * w;
    m = beta1 * m + one_minus_beta1 * g;
    const T size = std::abs(m) / (h_coefficient * h + T(1e-15));
    const T step = size < T(1) ? size : T(1);
    w = keep * w - lr * (m > T(0) ? step : m < T(0) ? -step : T(0));
  }
};
THALWEG_FUSED(SophiaFormula, 2)

template <class T>
struct Curvature {
  using keeps_weights = void;
  T beta2, one_minus_beta2;
  THALWEG_FORMULA void operator()(T&, T g, T&, T& h) const {
    h = beta2 * h + one_minus_beta2 * g * g;
  }
};
THALWEG_FUSED(Curvature, 2)

struct SophiaRule {
  static constexpr int states = 2;
  explicit SophiaRule(const Options& o)
      : beta1(o.real("beta1")),
        beta2(o.real("beta2")),
        rho(o.real("rho")),
        every(static_cast<int>(o.integer("every"))),
        decay(o) {}
  template <class T>
  SophiaFormula<T> formula(const StepContext& c, bool on, std::span<const double>) const {
    const double b1 = c.momentum.value_or(beta1);
    return {T(c.lr),         T(b1),
            T(1 - b1),       T(rho * static_cast<double>(c.samples)),
            T(decay.l2(on)), T(decay.keep(c.lr, on))};
  }
  double beta1, beta2, rho;
  int every;
  Decay decay;
};

template <class T>
Curvature<T> curvature(const SophiaRule& rule) {
  return {T(rule.beta2), T(1 - rule.beta2)};
}

class SophiaGOnGpu final : public FusedOnGpu<SophiaRule> {
 public:
  using FusedOnGpu<SophiaRule>::FusedOnGpu;
  void observe_curvature(gpu::Stream& stream, const StepContext&,
                         const OptimizerMemory<float>& memory,
                         const GradientNotes& notes) override {
    run_pass<2>(stream, chunks_, Always<Curvature<float>>{curvature<float>(rule_)}, notes, memory);
  }
};

template <class T>
class SophiaG final : public Fused<T, SophiaRule> {
 public:
  using Fused<T, SophiaRule>::Fused;
  bool observes_curvature() const override { return true; }
  bool curvature_due(std::int64_t step) const override {
    return (step + 1) % this->rule_.every == 0;
  }
  void observe_curvature(const StepContext&, const Segment& segment,
                         const OptimizerMemory<T>& memory) const override {
    run(curvature<T>(this->rule_), flat_range(segment, memory, 2));
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    return this->template on_gpu_as<SophiaGOnGpu>(place);
  }
};

template <class T>
std::unique_ptr<Optimizer<T>> make_sophia_g(const Options& o, const Parameters<T>& p) {
  return std::make_unique<SophiaG<T>>(o, p);
}

}  // namespace

OptimizerEntry sophia_g() {
  return {"sophia_g",
          "Sophia-G (arXiv:2305.14342): clipped steps by an estimate of the curvature",
          {{"*", 1e-4, "the authors' default"}},
          beta_options(0.965, 0.99) +
              std::vector{float_option("rho", 0.04, 0, 1e6, "larger: fewer steps are clipped"),
                          int_option("every", 10, 1, 1e6,
                                     "steps between two estimates, each an extra backward pass")} +
              decay_options(0.1, true),
          make_sophia_g<float>,
          make_sophia_g<double>};
}

}  // namespace thalweg::engine::optim
