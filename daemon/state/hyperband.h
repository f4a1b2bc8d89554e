// Which running trials are so far behind that they are ended early. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobspec/early_terminate.h"
#include "jobspec/trial.h"

namespace thalweg::daemon {

/// What a trial has reported of the sweep's metric, in the order of its steps.
struct TrialHistory {
  std::vector<double> values;
  bool running = false;
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
