// Which checkpoint is the best one: checkpoint.best.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/trial.h"

namespace thalweg::engine {

/// Looks at the metric of the trial each time that validation reports it, as the stop rule does,
/// but without a least improvement. The same on every rank. Not thread-safe.
class Best {
 public:
  Best() = default;  ///< never looks
  explicit Best(jobspec::Metric metric) : metric_(std::move(metric)), idle_(false) {}

  bool idle() const { return idle_; }
  /// What it looks at; empty where it is idle.
  std::string watched() const { return idle_ ? "" : metric_.name; }
  /// Of equal values the first is the best; one that is no finite number never is.
  void observe(std::int64_t step, const std::string& name, double value);
  /// Whether the newest observation, made after `step`, is the best one.
  bool is(std::int64_t step) const { return best_ && best_->step == step; }
  /// Where the best checkpoint was made.
  std::optional<std::int64_t> step() const {
    return best_ ? std::optional(best_->step) : std::nullopt;
  }
  double value() const { return best_->value; }
  /// The newest one could not be kept: the one before is the best again.
  void give_up_newest() { best_ = before_; }

  /// What a checkpoint keeps: value and step; empty where nothing was seen.
  std::vector<double> state() const;
  /// Empty: nothing was seen. Throws std::invalid_argument.
  void restore(const std::vector<double>& state);

 private:
  struct Seen {
    double value;
    std::int64_t step;
  };
  jobspec::Metric metric_;
  bool idle_ = true;
  std::optional<Seen> best_, before_;
};

}  // namespace thalweg::engine
