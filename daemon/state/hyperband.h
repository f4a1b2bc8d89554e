// Which running trials are so far behind that they are ended early. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "jobspec/early_terminate.h"
#include "jobspec/trial.h"

namespace thalweg::daemon {

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

  bool running = false;

 private:
  void count(double value, std::int64_t number);

  std::vector<double> values_;
  std::vector<std::int64_t> steps_;
  std::int64_t last_finite_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double greatest_ = -std::numeric_limits<double>::infinity();
};

/// The trials to end, each with the reason in a sentence. At each band b the values there of all
/// trials that got so far (ended ones too) are sorted, and number int(n / eta), from 0, is the
/// threshold; a running trial ends where its value at the latest band that it has passed (not
/// strict: its best value) is worse than that. What is no finite number is worse than any; a trial
/// that has reported nothing else since before the band ends there in any case. Else as W&B's sweep
/// controller decides (github.com/wandb/sweeps, hyperband_stopping.py).
std::map<std::int64_t, std::string> ended_early(const jobspec::EarlyTerminate& rule,
                                                const jobspec::Metric& metric,
                                                const std::map<std::int64_t, TrialHistory>& trials);

}  // namespace thalweg::daemon
