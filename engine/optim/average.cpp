#include <algorithm>
#include <stdexcept>

#include "engine/optim/fused.h"
#include "engine/optim/wrap.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct AverageFormula {
  using keeps_weights = void;
  T keep, one_minus_keep;
  THALWEG_FORMULA void operator()(T& w, T, T& e) const { e = keep * e + one_minus_keep * w; }
};
THALWEG_FUSED(AverageFormula, 1)

/// Factors of e and w after step `step`.
template <class T>
AverageFormula<T> formula(double decay, std::int64_t step) {
  const double t = static_cast<double>(step + 1);
  const double keep = std::min(decay, (1 + t) / (10 + t));
  return {T(keep), T(1 - keep)};
}

/// Of a step.
struct AverageFactors {
  AverageFormula<float> formula;
  bool first;
};

/// The first step's mean begins as the weights.
struct BeginMean {
  StepFactors<AverageFactors> factors;
  ChunkTable table;
  const float* w;
  float* mean;
  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t row) const {
    if (!(*factors).first) return;
    const Chunk chunk = table.chunks[row];
    for (int i = block.rank(); i < chunk.count / pack_width; i += block.size()) {
      const std::int64_t at = chunk.first / pack_width + i;
      reinterpret_cast<Floats4*>(mean)[at] = reinterpret_cast<const Floats4*>(w)[at];
    }
  }
};

class AverageOnGpu final : public WrappedOnGpu<AverageFactors> {
 public:
  AverageOnGpu(std::unique_ptr<OptimizerOnGpu> base, double decay, std::size_t count,
               std::size_t mean, const GpuPlace& place)
      : WrappedOnGpu<AverageFactors>(std::move(base)),
        decay_(decay),
        bytes_(count * sizeof(float)),
        mean_(mean),
        chunks_(place.gpu, place.infos) {}
  void eval_weights(gpu::Stream& stream, const OptimizerMemory<float>& x, float* to) override {
    stream.copy(to, x.states[mean_], bytes_);
  }

 private:
  AverageFactors factors(const StepContext& c) const override {
    return {formula<float>(decay_, c.step), c.step == 0};
  }
  void before(gpu::Stream& stream, const StepFactors<AverageFactors>& f,
              const OptimizerMemory<float>& x, const GradientNotes&) override {
    gpu::for_each_row(stream, chunks_.count(), team_threads,
                      BeginMean{f, chunks_.table(), x.w, x.states[mean_]});
  }
  void after(gpu::Stream& stream, const StepFactors<AverageFactors>& f,
             const OptimizerMemory<float>& x) override {
    const OptimizerMemory<float> pair{x.w, x.g, x.states.subspan(mean_), {}, {}};
    const StepFactors<AverageFormula<float>> now = f.part(&AverageFactors::formula);
    run_pass<1>(stream, chunks_, Always<AverageFormula<float>>{now.here, now.there}, {}, pair);
  }

  double decay_;
  std::size_t bytes_, mean_;
  Chunks chunks_;
};

template <class T>
class Average final : public Wrapped<T> {
 public:
  Average(std::unique_ptr<Optimizer<T>> base, const Parameters<T>& parameters, double decay)
      : Wrapped<T>(std::move(base)), decay_(decay) {
    if (this->base().has_eval_weights())
      throw std::invalid_argument(
          "optimizer.ema: this optimizer validates at an average of its own; leave ema at 0");
    if (!parameters.infos.empty())
      count_ = parameters.infos.back().offset + parameters.infos.back().count;
  }
  int states() const override { return mean() + 1; }
  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    if (c.step == 0)
      std::copy_n(x.w + s.offset, s.count, x.states[static_cast<std::size_t>(mean())] + s.offset);
    this->base().update(c, s, x);
  }
  void finish(const StepContext& c, const OptimizerMemory<T>& x) const override {
    this->base().finish(c, x);
    FlatRange<T> all{count_, x.w, x.w, {x.states[static_cast<std::size_t>(mean())]}};
    run(formula<T>(decay_, c.step), all);
  }
  bool has_eval_weights() const override { return true; }
  void eval_weights(const OptimizerMemory<T>& x, T* to) const override {
    std::copy_n(x.states[static_cast<std::size_t>(mean())], count_, to);
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    return std::make_unique<AverageOnGpu>(this->base().on_gpu(place), decay_, count_,
                                          static_cast<std::size_t>(mean()), place);
  }

 private:
  int mean() const { return this->base().states(); }
  double decay_;
  std::size_t count_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> with_average(std::unique_ptr<Optimizer<T>> base,
                                           const Parameters<T>& parameters, double decay) {
  return std::make_unique<Average<T>>(std::move(base), parameters, decay);
}
template std::unique_ptr<Optimizer<float>> with_average(std::unique_ptr<Optimizer<float>>,
                                                        const Parameters<float>&, double);
template std::unique_ptr<Optimizer<double>> with_average(std::unique_ptr<Optimizer<double>>,
                                                         const Parameters<double>&, double);

}  // namespace thalweg::engine::optim
