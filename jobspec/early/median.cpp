// The median stopping rule of Google Vizier (Golovin et al. 2017, section 3.2): a running trial
// ends after s values if its best one is worse than the median of the means of the first s values
// of all trials that have ended. Unlike hyperband it judges after every value.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "jobspec/early/rule.h"
#include "jobspec/parse.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t usual_trials = 5;  // as many as Optuna's MedianPruner waits for

/// Of the trials that have ended and got so far; nothing where they are too few.
std::optional<double> median_mean(std::int64_t at, double sign, std::size_t fewest,
                                  const TrialHistories& trials, std::size_t& count) {
  std::vector<double> means;
  for (const auto& [number, trial] : trials)
    if (!trial.running && static_cast<std::int64_t>(trial.values().size()) >= at)
      means.push_back(oriented(trial.mean(at), sign));
  count = means.size();
  if (count < fewest) return std::nullopt;
  std::sort(means.begin(), means.end());
  const double upper = means[count / 2];
  return count % 2 ? upper : (means[count / 2 - 1] + upper) / 2;
}

EndedEarly ended_by_median(const EarlyTerminate& rule, const Metric& metric,
                           const TrialHistories& trials) {
  const double sign = sign_of(metric);
  const auto fewest = static_cast<std::size_t>(rule.min_trials.value_or(usual_trials));
  EndedEarly result;
  for (const auto& [number, trial] : trials) {
    const auto at = static_cast<std::int64_t>(trial.values().size());
    if (!trial.running || at < std::max<std::int64_t>(rule.min_iter, 1)) continue;
    std::size_t count = 0;
    const auto median = median_mean(at, sign, fewest, trials, count);
    const double own = sign > 0 ? trial.least() : -trial.greatest();
    if (!median || own <= *median) continue;
    result[number] = fmt::format(
        "{}{} {:.6g} at best after {} values, the median of the means of {} trials is {:.6g} "
        "(median)",
        early_end_reason, metric.name, sign * own, at, count, sign * *median);
  }
  return result;
}

void read_median(Fields& fields, const Value&, Parsing&, EarlyTerminate& rule) {
  std::int64_t trials = usual_trials;
  if (!fields.take("min_iter"))
    fields.missing("min_iter", "from how many values of the metric on trials are compared");
  else
    fields.integer("min_iter", rule.min_iter, {1, max_iterations});
  fields.integer("min_trials", trials, {1, max_iterations});
  rule.min_trials = trials;
}

std::string in_words_of_median(const EarlyTerminate& rule, const std::string& metric) {
  return fmt::format(
      "after {} values of {} or more, a trial continues if its best value is no worse than the "
      "median of the means of {} or more ended trials",
      rule.min_iter, metric, rule.min_trials.value_or(usual_trials));
}

}  // namespace

namespace early {

EarlyRule median() {
  return {"median",
          "the best value up to now is no worse than the median of the means of ended trials",
          R"("min_iter": {"type": "integer", "minimum": 1},
             "min_trials": {"type": "integer", "minimum": 1})",
          R"({"required": ["min_iter"]})",
          read_median,
          in_words_of_median,
          ended_by_median};
}

}  // namespace early
}  // namespace thalweg::jobspec
