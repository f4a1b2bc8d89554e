// What the rules of early_terminate look at.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace thalweg::jobspec {

/// What a trial has reported of the sweep's metric, in the order of its steps. What the rule asks
/// of all values is kept up to date, so that nobody goes through them again.
class TrialHistory {
 public:
  TrialHistory() = default;
  /// At the steps 1, 2, 3 ...
  TrialHistory(const std::vector<double>& values, bool is_running);

  /// `step`: behind all others.
  void add(std::int64_t step, double value);
  /// Forgets this step and what is behind it.
  void cut(std::int64_t step);
  /// The smallest step that is behind all others.
  std::int64_t next_step() const;
  const std::vector<double>& values() const { return values_; }
  /// The number, from 1, of the last finite value; 0: there is none.
  std::int64_t last_finite() const { return last_finite_; }
  double least() const { return least_; }        ///< of the finite ones; infinity: there is none
  double greatest() const { return greatest_; }  ///< the same; -infinity: there is none

  /// Of the first values, `count` from 1: their mean; no finite number where one of them is none.
  double mean(std::int64_t count) const {
    return sums_[static_cast<std::size_t>(count - 1)] / static_cast<double>(count);
  }

  bool running = false;

 private:
  void count(double value, std::int64_t number);

  std::vector<double> values_, sums_;  ///< and the sums of the first ones
  std::vector<std::int64_t> steps_;
  std::int64_t last_finite_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
};

}  // namespace thalweg::jobspec
