// Schedule-Free learning (Defazio et al. 2024, arXiv:2405.15682), as in
// facebookresearch/schedule_free. Three points: z takes the base optimizer's steps, x is the
// weighted mean of all z, and y = beta x + (1 - beta) z, where gradients are taken. The weights in
// memory are y; x is what one validates. With u the base's direction at y and c the weight of the
// newest z:
//   y = y + c (z - y) + lr (beta (1 - c) - 1) u;   z = z - lr u;   x = (y - (1 - beta) z) / beta
// A schedule only needs a warm-up.
#pragma once

#include <algorithm>

#include "engine/optim/fused.h"

namespace thalweg::engine::optim {

inline std::vector<jobspec::Option> schedule_free_options(const char* beta) {
  return {
      float_option(beta, 0.9, 0.01, 0.999999, "where y is between the mean and the newest point"),
      float_option("r", 0, 0, 10, "later steps weigh t^r more in the mean"),
      float_option("lr_power", 2, 0, 10,
                   "steps weigh in the mean as the largest lr so far to this power")};
}

/// The weights of the mean.
struct ScheduleFree {
  static constexpr std::size_t scalars = 2;  // sum of the weights, largest lr so far
  ScheduleFree(const Options& o, const char* beta_name)
      : beta(o.real(beta_name)), r(o.real("r")), power(o.real("lr_power")) {}

  double weight(const StepContext& c, std::span<const double> scalar) const {
    return std::pow(static_cast<double>(c.step + 1), r) *
           std::pow(std::max(c.lr, scalar[1]), power);
  }
  double newest(const StepContext& c, std::span<const double> scalar) const {
    const double w = weight(c, scalar), sum = scalar[0] + w;
    return sum > 0 ? w / sum : 0;
  }
  /// The factor of u in y's step.
  double g_coefficient(const StepContext& c, std::span<const double> scalar) const {
    return c.lr * (beta * (1 - newest(c, scalar)) - 1);
  }
  void finish(const StepContext& c, std::span<double> scalar) const {
    scalar[0] += weight(c, scalar);
    scalar[1] = std::max(scalar[1], c.lr);
  }
  double beta, r, power;
};

/// x = w + mix (z - w)
template <class T>
struct MeanFormula {
  using keeps_weights = void;
  using writes_gradient = void;
  T mix;
  THALWEG_FORMULA void operator()(T& w, T& x, T& z) const { x = w + mix * (z - w); }
};
void run(const MeanFormula<float>& formula, const FlatRange<float>& x);
void run(const MeanFormula<double>& formula, const FlatRange<double>& x);

/// The mean at present: before the first step there is no z.
template <class T>
MeanFormula<T> mean_formula(const ScheduleFree& mean, std::span<const double> scalar) {
  return {T(scalar[0] > 0 ? 1 - 1 / mean.beta : 0)};
}

template <class Rule>
class ScheduleFreeOnGpu final : public FusedOnGpu<Rule> {
 public:
  using FusedOnGpu<Rule>::FusedOnGpu;
  void eval_weights(gpu::Stream& stream, const OptimizerMemory<float>& memory, float* x) override {
    OptimizerMemory<float> to = memory;
    to.g = x;
    const auto formula = mean_formula<float>(this->rule_.mean, memory.scalars);
    run_pass<1>(stream, this->chunks_, Always<MeanFormula<float>>{formula}, {}, to);
  }
};

/// A Rule with a member `mean` (ScheduleFree) and z as its first state.
template <class T, class Rule>
class ScheduleFreeOptimizer final : public Fused<T, Rule> {
 public:
  ScheduleFreeOptimizer(const Options& o, const Parameters<T>& p)
      : Fused<T, Rule>(o, p), infos_(p.infos) {}
  bool has_eval_weights() const override { return true; }
  void eval_weights(const OptimizerMemory<T>& memory, T* x) const override {
    OptimizerMemory<T> to = memory;
    to.g = x;
    for (const ParameterInfo& info : infos_)
      run(mean_formula<T>(this->rule_.mean, memory.scalars),
          flat_range({0, info.offset, info.count}, to, 1));
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    return this->template on_gpu_as<ScheduleFreeOnGpu<Rule>>(place);
  }

 private:
  std::vector<ParameterInfo> infos_;
};

template <class T, class Rule>
std::unique_ptr<Optimizer<T>> make_schedule_free(const Options& o, const Parameters<T>& p) {
  return std::make_unique<ScheduleFreeOptimizer<T, Rule>>(o, p);
}

}  // namespace thalweg::engine::optim
