// epochs: the batch is multiplied where a schedule would divide the learning rate (Smith et al.,
// "Don't Decay the Learning Rate, Increase the Batch Size", arXiv:1711.00489).
#include <cstdio>
#include <stdexcept>
#include <string>

#include "engine/train/batch_growth.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

class AtEpochs final : public GrowthRule {
 public:
  AtEpochs(std::vector<double> at, std::int64_t factor, const GrowthPlan& plan)
      : at_(std::move(at)), factor_(factor) {
    for (std::size_t i = 0; i < at_.size(); ++i) {
      most_ *= factor_;
      if (most_ * plan.global_batch > plan.training) refuse_batch(i + 1, plan);
    }
  }

  std::int64_t multiple(const GrowthFacts& facts) const override {
    std::int64_t multiple = 1;
    for (const double at : at_)
      if (facts.epochs >= at) multiple *= factor_;
    return multiple;
  }
  std::int64_t most() const override { return most_; }

 private:
  [[noreturn]] void refuse_batch(std::size_t times, const GrowthPlan& plan) const {
    throw std::invalid_argument(
        "batch_growth.at_epochs: grown " + std::to_string(times) + " times by " +
        std::to_string(factor_) + " the batch has " + std::to_string(most_ * plan.global_batch) +
        " samples, more than the " + std::to_string(plan.training) +
        " training samples; let it grow less often, or by a smaller batch_growth.factor");
  }

  std::vector<double> at_;
  std::int64_t factor_, most_ = 1;
};

std::string in_words(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::unique_ptr<GrowthRule> make_at_epochs(const jobspec::Options& options,
                                           const GrowthPlan& plan) {
  std::vector<double> at = options.reals("at_epochs");
  const std::string key = "batch_growth.at_epochs: ";
  if (at.empty())
    throw std::invalid_argument(key + "the list is empty; give an epoch or leave batch_growth out");
  for (std::size_t i = 0; i < at.size(); ++i)
    if (!(at[i] > (i == 0 ? 0 : at[i - 1])))
      throw std::invalid_argument(key + "epochs must rise and be above 0; put them in order");
  if (!(at.back() < static_cast<double>(plan.epochs)))
    throw std::invalid_argument(key + in_words(at.back()) +
                                " is not before the end of the run, after epoch " +
                                std::to_string(plan.epochs) + "; leave it out, or set more epochs");
  return std::make_unique<AtEpochs>(std::move(at), options.integer("factor"), plan);
}

}  // namespace

GrowthRow growth_at_epochs_row() {
  jobspec::Option at = jobspec::list_option(
      "at_epochs", {}, "after how many epochs it grows, each time by factor: [30, 60, 80]");
  at.required = true;
  return {"epochs",
          "it grows after given epochs",
          {std::move(at), jobspec::int_option("factor", 2, 2, 65536, "how many times as large")},
          make_at_epochs};
}

}  // namespace thalweg::engine
