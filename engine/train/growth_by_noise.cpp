// noise_scale: B = sqrt(r * B_simple) (McCandlish et al., arXiv:1812.06162, appendix D), rounded
// down to batch.global times a power of factor. The noise scale rises while training; a batch that
// follows it down again would follow its measurement's noise, so it only grows.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/train/batch_growth.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

class ByNoise final : public GrowthRule {
 public:
  ByNoise(const jobspec::Options& options, const GrowthPlan& plan)
      : batch_(plan.global_batch),
        every_(options.integer("every")),
        factor_(options.integer("factor")),
        rate_(options.real("samples_for_a_step")) {
    const std::int64_t bound = std::min(options.integer("max"), plan.training);
    while (most_ * factor_ <= bound / batch_)
      most_ *= factor_;
  }

  bool looks(std::int64_t step) const override { return step % every_ == 0; }
  std::int64_t multiple(const GrowthFacts& facts) const override {
    std::int64_t multiple = 1;
    if (!facts.b_simple) return multiple;
    const double wanted = std::sqrt(rate_ * *facts.b_simple);
    while (multiple < most_ && static_cast<double>(multiple * factor_ * batch_) <= wanted)
      multiple *= factor_;
    return multiple;
  }
  std::int64_t most() const override { return most_; }
  bool measures() const override { return true; }

 private:
  std::int64_t batch_, every_, factor_, most_ = 1;
  double rate_;
};

std::unique_ptr<GrowthRule> make_by_noise(const jobspec::Options& options, const GrowthPlan& plan) {
  const std::int64_t max = options.integer("max"), factor = options.integer("factor");
  if (max / factor < plan.global_batch)
    throw std::invalid_argument(
        "batch_growth.max: " + std::to_string(max) + " leaves no room for batch.global " +
        std::to_string(plan.global_batch) + " to grow by factor " + std::to_string(factor) +
        "; use at least " + std::to_string(plan.global_batch * factor));
  if (plan.training / factor < plan.global_batch)
    throw std::invalid_argument("batch_growth.max: " + std::to_string(plan.training) +
                                " training samples leave no room for batch.global " +
                                std::to_string(plan.global_batch) + " to grow by factor " +
                                std::to_string(factor) + "; begin with a smaller batch");
  return std::make_unique<ByNoise>(options, plan);
}

}  // namespace

GrowthRow growth_by_noise_row() {
  jobspec::Option rate = jobspec::above_min(jobspec::float_option(
      "samples_for_a_step", jobspec::Value(), 0, jobspec::no_limit,
      "r of B = sqrt(r * B_simple): how many more samples a run may go through to save one step"));
  rate.required = true;
  jobspec::Option max =
      jobspec::int_option("max", jobspec::Value(), 1, 1 << 30, "largest global batch, in samples");
  max.required = true;
  return {
      "noise_scale",
      "it follows the measured gradient noise scale, and never shrinks",
      {std::move(rate), std::move(max),
       jobspec::int_option("every", 100, 1, jobspec::no_limit,
                           "steps after which the noise scale is looked at"),
       jobspec::int_option("factor", 2, 2, 65536, "the batch is batch.global times a power of it")},
      make_by_noise};
}

}  // namespace thalweg::engine
