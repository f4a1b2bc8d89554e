#include "jobspec/early/history.h"

#include <algorithm>
#include <limits>

#include "jobspec/trial.h"

namespace thalweg::jobspec {

TrialHistory::TrialHistory(const std::vector<double>& values, bool is_running)
    : running(is_running) {
  for (std::size_t i = 0; i < values.size(); ++i)
    add(static_cast<std::int64_t>(i + 1), values[i]);
}

void TrialHistory::add(std::int64_t step, double value) {
  steps_.push_back(step);
  values_.push_back(value);
  sums_.push_back(value + (sums_.empty() ? 0 : sums_.back()));
  count(value, static_cast<std::int64_t>(values_.size()));
}

void TrialHistory::count(double value, std::int64_t number) {
  if (has_diverged(value)) return;
  last_finite_ = number;
  least_ = std::min(least_, value);
  greatest_ = std::max(greatest_, value);
}

void TrialHistory::cut(std::int64_t step) {
  const auto first = std::lower_bound(steps_.begin(), steps_.end(), step);
  if (first == steps_.end()) return;
  steps_.erase(first, steps_.end());
  values_.resize(steps_.size());
  sums_.resize(steps_.size());
  last_finite_ = 0;
  least_ = std::numeric_limits<double>::infinity();
  greatest_ = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < values_.size(); ++i)
    count(values_[i], static_cast<std::int64_t>(i + 1));
}

std::int64_t TrialHistory::next_step() const {
  return steps_.empty() ? std::numeric_limits<std::int64_t>::min() : steps_.back() + 1;
}

}  // namespace thalweg::jobspec
