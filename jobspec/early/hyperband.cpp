// Hyperband as W&B's sweep controller has it (github.com/wandb/sweeps, hyperband_stopping.py; Li et
// al. 2018): their rule, not the paper's brackets. At each band b the values there of all trials
// that got so far (ended ones too) are sorted, and number int(n / eta), from 0, is the threshold; a
// running trial ends where its value at the latest band that it has passed (not strict: its best
// value) is worse than that. What is no finite number is worse than any; a trial that has reported
// nothing else since before the band ends there in any case.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/early/rule.h"
#include "jobspec/parse.h"

namespace thalweg::jobspec {
namespace {

struct Band {
  double threshold = 0;
  std::size_t trials = 0;
};

double value_at(const TrialHistory& trial, std::int64_t at, double sign) {
  return oriented(trial.values()[static_cast<std::size_t>(at - 1)], sign);
}

std::int64_t length(const TrialHistory& trial) {
  return static_cast<std::int64_t>(trial.values().size());
}

/// Of the trials that have got to `at`, of which there is one.
Band band_at(std::int64_t at, double eta, double sign, const TrialHistories& trials) {
  std::vector<double> values;
  for (const auto& [number, trial] : trials)
    if (length(trial) >= at) values.push_back(value_at(trial, at, sign));
  const auto place = static_cast<std::size_t>(1.0 / eta * static_cast<double>(values.size()));
  const auto threshold = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), threshold, values.end());
  return {*threshold, values.size()};
}

EndedEarly ended_by_bands(const EarlyTerminate& rule, const Metric& metric,
                          const TrialHistories& trials) {
  const double sign = sign_of(metric);  // below, less is better
  std::int64_t longest = 0;
  for (const auto& [number, trial] : trials)
    longest = std::max(longest, length(trial));
  const std::vector<std::int64_t> places = rule.bands(longest);
  std::map<std::int64_t, Band> bands;  // those at which somebody is judged
  EndedEarly result;
  for (const auto& [number, trial] : trials) {
    const auto behind = std::upper_bound(places.begin(), places.end(), length(trial));
    if (!trial.running || behind == places.begin()) continue;
    const std::int64_t passed = *std::prev(behind);
    if (trial.last_finite() < passed) {
      result[number] = fmt::format("{}{} is {} after {} values (hyperband)", early_end_reason,
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
    result[number] = fmt::format(
        "{}{} {:.6g} after {} values, {:.6g} of {} trials is the limit (hyperband)",
        early_end_reason, metric.name, sign * own, passed, sign * band.threshold, band.trials);
  }
  return result;
}

void read_bands(Fields& fields, const Value& block, Parsing& parsing, EarlyTerminate& rule) {
  const bool first = fields.integer("min_iter", rule.min_iter, {1, max_iterations});
  const bool last = fields.integer("max_iter", rule.max_iter, {1, max_iterations});
  const Value* const count = fields.take("s");
  const auto expected = [&](const char* key, const Value& found, const char* what) {
    fields.wrong(found, key, what);
  };
  if (count != nullptr && !(fields.real("s", rule.s) && rule.s >= 1 && rule.s <= 100))
    expected("s", *count, "a number from 1 to 100: how many bands");
  const Value* const eta = fields.take("eta");
  if (eta != nullptr && !(fields.real("eta", rule.eta) && rule.eta > 1 && rule.eta <= 1000))
    expected("eta", *eta, "a number above 1: the best 1/eta continue");
  fields.boolean("strict", rule.strict);
  if (first && last)
    parsing.note(block.place, "early_terminate",
                 count != nullptr
                     ? "max_iter and s say where bands are, so min_iter does not count"
                     : "min_iter says where bands are; max_iter does not count without s",
                 "leave out the one that does not count");
  if (!fields.take("min_iter") && !fields.take("max_iter"))
    fields.missing("min_iter", "from how many values of the metric on trials are compared",
                   "or max_iter and s");
  else if (last && count == nullptr && !first)
    fields.missing("s", "how many bands there are below max_iter");
  if (last && count != nullptr) rule.min_iter = 0;
  if (rule.min_iter == 0 && last && count != nullptr && rule.bands(max_iterations).empty())
    expected("max_iter", *block.find("max_iter"), "at least eta");
}

std::string in_words_of_bands(const EarlyTerminate& rule, const std::string& metric) {
  constexpr std::size_t shown = 4;
  const auto bands = rule.bands(max_iterations);
  std::string text;
  for (std::size_t i = 0; i < std::min(bands.size(), shown); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(bands[i]);
  if (bands.size() > shown) text += ", ...";
  return fmt::format("after {} values of {} about the best 1/{:g} of the trials continue", text,
                     metric, rule.eta);
}

}  // namespace

std::vector<std::int64_t> EarlyTerminate::bands(std::int64_t most) const {
  std::vector<std::int64_t> found;
  if (min_iter > 0) {
    constexpr int at_most = 100;
    double band = static_cast<double>(min_iter);
    for (int i = 0; i < at_most && band <= static_cast<double>(most); ++i, band *= eta)
      found.push_back(static_cast<std::int64_t>(band));
  } else {
    double band = static_cast<double>(max_iter);
    for (int i = 0; i < static_cast<int>(s); ++i) {
      band /= eta;
      if (band < 1) break;
      if (band <= static_cast<double>(most)) found.push_back(static_cast<std::int64_t>(band));
    }
    std::reverse(found.begin(), found.end());
  }
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

namespace early {

EarlyRule hyperband() {
  return {
      "hyperband",
      "the best 1/eta continue at each band",
      R"("min_iter": {"type": "integer", "minimum": 1}, "max_iter": {"type": "integer", "minimum": 1},
             "s": {"type": "number", "minimum": 1, "maximum": 100},
             "eta": {"type": "number", "exclusiveMinimum": 1, "maximum": 1000},
             "strict": {"type": "boolean"})",
      R"({"anyOf": [{"required": ["min_iter"]}, {"required": ["max_iter", "s"]}]})",
      read_bands,
      in_words_of_bands,
      ended_by_bands};
}

}  // namespace early
}  // namespace thalweg::jobspec
