#include "daemon/state/hyperband.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::daemon {
namespace {

struct Band {
  double threshold = 0;
  std::size_t trials = 0;
};

constexpr double kWorst = std::numeric_limits<double>::infinity();

/// Less is better; what is no finite number is the worst.
double oriented(double value, double sign) {
  return std::isfinite(value) ? sign * value : kWorst;
}

double value_at(const TrialHistory& trial, std::int64_t at, double sign) {
  return oriented(trial.values()[static_cast<std::size_t>(at - 1)], sign);
}

std::int64_t length(const TrialHistory& trial) {
  return static_cast<std::int64_t>(trial.values().size());
}

/// Of the trials that have got to `at`, of which there is one.
Band band_at(std::int64_t at, double eta, double sign,
             const std::map<std::int64_t, TrialHistory>& trials) {
  std::vector<double> values;
  for (const auto& [number, trial] : trials)
    if (length(trial) >= at) values.push_back(value_at(trial, at, sign));
  const auto place = static_cast<std::size_t>(1.0 / eta * static_cast<double>(values.size()));
  const auto threshold = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), threshold, values.end());
  return {*threshold, values.size()};
}

}  // namespace

TrialHistory::TrialHistory(const std::vector<double>& values, bool is_running)
    : running(is_running) {
  for (std::size_t i = 0; i < values.size(); ++i)
    add(static_cast<std::int64_t>(i + 1), values[i]);
}

void TrialHistory::add(std::int64_t step, double value) {
  steps_.push_back(step);
  values_.push_back(value);
  count(value, static_cast<std::int64_t>(values_.size()));
}

void TrialHistory::count(double value, std::int64_t number) {
  if (jobspec::has_diverged(value)) return;
  last_finite_ = number;
  least_ = std::min(least_, value);
  greatest_ = std::max(greatest_, value);
}

void TrialHistory::cut(std::int64_t step) {
  const auto first = std::lower_bound(steps_.begin(), steps_.end(), step);
  if (first == steps_.end()) return;
  steps_.erase(first, steps_.end());
  values_.resize(steps_.size());
  last_finite_ = 0;
  least_ = kWorst;
  greatest_ = -kWorst;
  for (std::size_t i = 0; i < values_.size(); ++i)
    count(values_[i], static_cast<std::int64_t>(i + 1));
}

std::int64_t TrialHistory::next_step() const {
  return steps_.empty() ? std::numeric_limits<std::int64_t>::min() : steps_.back() + 1;
}

std::map<std::int64_t, std::string> ended_early(
    const jobspec::EarlyTerminate& rule, const jobspec::Metric& metric,
    const std::map<std::int64_t, TrialHistory>& trials) {
  const double sign = metric.goal == jobspec::Goal::maximize ? -1 : 1;  // below, less is better
  std::int64_t longest = 0;
  for (const auto& [number, trial] : trials)
    longest = std::max(longest, length(trial));
  const std::vector<std::int64_t> places = rule.bands(longest);
  std::map<std::int64_t, Band> bands;  // those at which somebody is judged
  std::map<std::int64_t, std::string> result;
  for (const auto& [number, trial] : trials) {
    const auto behind = std::upper_bound(places.begin(), places.end(), length(trial));
    if (!trial.running || behind == places.begin()) continue;
    const std::int64_t passed = *std::prev(behind);
    if (trial.last_finite() < passed) {
      result[number] =
          fmt::format("{}{} is {} after {} values (hyperband)", jobspec::early_end_reason,
                      metric.name, trial.values().back(), trial.values().size());
      continue;
    }
    double own = value_at(trial, passed, sign);
    if (!rule.strict) own = sign > 0 ? trial.least() : -trial.greatest();
    auto known = bands.find(passed);
    if (known == bands.end())
      known = bands.emplace(passed, band_at(passed, rule.eta, sign, trials)).first;
    const Band& band = known->second;
    if (own <= band.threshold) continue;
    result[number] =
        fmt::format("{}{} {:.6g} after {} values, {:.6g} of {} trials is the limit (hyperband)",
                    jobspec::early_end_reason, metric.name, sign * own, passed,
                    sign * band.threshold, band.trials);
  }
  return result;
}

}  // namespace thalweg::daemon
