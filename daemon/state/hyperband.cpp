#include "daemon/state/hyperband.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::daemon {
namespace {

struct Band {
  std::int64_t at = 0;
  double threshold = 0;
  std::size_t trials = 0;
};

constexpr double kWorst = std::numeric_limits<double>::infinity();

/// Less is better; what is no finite number is the worst.
double oriented(double value, double sign) {
  return std::isfinite(value) ? sign * value : kWorst;
}

/// From its report number `at` (from 1) on there was no finite value any more.
bool diverged_by(const TrialHistory& trial, std::int64_t at) {
  return std::all_of(trial.values.begin() + (at - 1), trial.values.end(), jobspec::has_diverged);
}

}  // namespace

std::map<std::int64_t, std::string> ended_early(
    const jobspec::EarlyTerminate& rule, const jobspec::Metric& metric,
    const std::map<std::int64_t, TrialHistory>& trials) {
  const double sign = metric.goal == jobspec::Goal::maximize ? -1 : 1;  // below, less is better
  std::size_t longest = 0;
  for (const auto& [number, trial] : trials)
    longest = std::max(longest, trial.values.size());
  std::vector<Band> bands;
  for (const std::int64_t at : rule.bands(static_cast<std::int64_t>(longest))) {
    std::vector<double> values;
    for (const auto& [number, trial] : trials)
      if (static_cast<std::int64_t>(trial.values.size()) >= at)
        values.push_back(oriented(trial.values[static_cast<std::size_t>(at - 1)], sign));
    if (values.empty()) break;
    std::sort(values.begin(), values.end());
    const auto place =
        static_cast<std::size_t>(1.0 / rule.eta * static_cast<double>(values.size()));
    bands.push_back({at, values[place], values.size()});
  }
  std::map<std::int64_t, std::string> result;
  for (const auto& [number, trial] : trials) {
    const Band* passed = nullptr;
    for (const Band& band : bands)
      if (band.at <= static_cast<std::int64_t>(trial.values.size())) passed = &band;
    if (!trial.running || passed == nullptr) continue;
    if (diverged_by(trial, passed->at)) {
      result[number] =
          fmt::format("{}{} is {} after {} values (hyperband)", jobspec::early_end_reason,
                      metric.name, trial.values.back(), trial.values.size());
      continue;
    }
    double own = oriented(trial.values[static_cast<std::size_t>(passed->at - 1)], sign);
    if (!rule.strict)
      for (const double value : trial.values)
        own = std::min(own, oriented(value, sign));
    if (own <= passed->threshold) continue;
    result[number] =
        fmt::format("{}{} {:.6g} after {} values, {:.6g} of {} trials is the limit (hyperband)",
                    jobspec::early_end_reason, metric.name, sign * own, passed->at,
                    sign * passed->threshold, passed->trials);
  }
  return result;
}

}  // namespace thalweg::daemon
