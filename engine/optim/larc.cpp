// larc: g = s (g + decay w), with s from |w| / |g|, before the base's own update.
// Modes clip and scale: NVIDIA apex (apex/parallel/LARC.py); clip_one and fallback: the CosmoFlow
// and pyprob (Etalumis) variants, with trust 0.002 and fallback 1/16000.
#include "engine/optim/fused.h"
#include "engine/optim/norm.h"
#include "engine/optim/ratios.h"
#include "engine/optim/wrap.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct LarcFormula {
  using keeps_weights = void;
  using writes_gradient = void;
  T factor, decay;
  THALWEG_FORMULA void operator()(T& w, T& g) const { g = factor * (g + decay * w); }
};
THALWEG_FUSED(LarcFormula, 0)

/// What the gradient is multiplied by; 0: it is left as it is.
struct Factor {
  enum class Mode { clip, scale, clip_one };
  explicit Factor(const LarcOptions& o)
      : mode(o.mode == "scale"      ? Mode::scale
             : o.mode == "clip_one" ? Mode::clip_one
                                    : Mode::clip),
        trust(o.trust),
        epsilon(o.epsilon),
        fallback(o.fallback) {}
  THALWEG_HOST_DEVICE double operator()(double w, double g, double decay, double lr) const {
    double ratio = trust * w / (g + decay * w + epsilon);
    if (w == 0 || g == 0) ratio = fallback;
    if (ratio <= 0 || mode == Mode::scale) return ratio;
    if (mode == Mode::clip) ratio = lr > 0 ? ratio / lr : 1;
    return ratio < 1 ? ratio : 1;
  }
  Mode mode;
  double trust, epsilon, fallback;
};

struct LarcKeepFactor {
  Factor factor;
  double decay;
  StepFactors<double> lr;
  float* factors;
  THALWEG_HOST_DEVICE void operator()(int parameter, int decays, const double* squares) const {
    factors[parameter] = static_cast<float>(
        factor(std::sqrt(squares[0]), std::sqrt(squares[1]), decays != 0 ? decay : 0, *lr));
  }
};
struct FormulaByFactor {
  float decay;
  const float* factors;
  THALWEG_HOST_DEVICE LarcFormula<float> operator()(const Chunk& chunk) const {
    const float factor = factors[chunk.parameter];
    if (!(factor > 0)) return {1, 0};
    return {factor, chunk.choice != 0 ? decay : 0};
  }
};

class LarcOnGpu final : public WrappedOnGpu<double> {
 public:
  LarcOnGpu(std::unique_ptr<OptimizerOnGpu> base, const LarcOptions& o,
            const std::vector<int>& decays, const GpuPlace& place)
      : WrappedOnGpu<double>(std::move(base)),
        factor_(o),
        decay_(o.decay),
        chunks_(place.gpu, place.infos, decays),
        ratios_(place.gpu, chunks_) {}

 private:
  double factors(const StepContext& c) const override { return c.lr; }
  void before(gpu::Stream& stream, const StepFactors<double>& lr, const OptimizerMemory<float>& x,
              const GradientNotes& notes) override {
    ratios_.add_squares(stream, chunks_, x);
    join_sums<2>(stream, chunks_, ratios_.partial(),
                 LarcKeepFactor{factor_, decay_, lr, ratios_.of_parameters()});
    run_pass<0>(stream, chunks_,
                FormulaByFactor{static_cast<float>(decay_), ratios_.of_parameters()}, notes, x);
  }
  void after(gpu::Stream&, const StepFactors<double>&, const OptimizerMemory<float>&) override {}

  Factor factor_;
  double decay_;
  Chunks chunks_;
  Ratios ratios_;
};

template <class T>
class Larc final : public Wrapped<T> {
 public:
  Larc(std::unique_ptr<Optimizer<T>> base, const Parameters<T>& parameters, const LarcOptions& o)
      : Wrapped<T>(std::move(base)), infos_(parameters.infos), o_(o), factor_(o) {}
  bool elementwise(int) const override { return false; }
  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const double decay = infos_[static_cast<std::size_t>(s.parameter)].decay ? o_.decay : 0;
    const double factor =
        factor_(norm(s.count, x.w + s.offset), norm(s.count, x.g + s.offset), decay, c.lr);
    if (factor > 0) run(LarcFormula<T>{T(factor), T(decay)}, flat_range(s, x, 0));
    this->base().update(c, s, x);
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    std::vector<int> decays;
    for (const ParameterInfo& info : infos_)
      decays.push_back(info.decay ? 1 : 0);
    return std::make_unique<LarcOnGpu>(this->base().on_gpu(place), o_, decays, place);
  }

 private:
  std::vector<ParameterInfo> infos_;
  LarcOptions o_;
  Factor factor_;
};

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> with_larc(std::unique_ptr<Optimizer<T>> base,
                                        const Parameters<T>& parameters,
                                        const LarcOptions& options) {
  return std::make_unique<Larc<T>>(std::move(base), parameters, options);
}
template std::unique_ptr<Optimizer<float>> with_larc(std::unique_ptr<Optimizer<float>>,
                                                     const Parameters<float>&, const LarcOptions&);
template std::unique_ptr<Optimizer<double>> with_larc(std::unique_ptr<Optimizer<double>>,
                                                      const Parameters<double>&,
                                                      const LarcOptions&);

}  // namespace thalweg::engine::optim
