// Trials that differ only by seed are one configuration: a search chooses configurations, and a
// median over seeds keeps one lucky seed from being taken for a good choice.
#include "db/analysis/configurations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>

#include "base/text.h"
#include "db/analysis/tuning.h"

namespace thalweg::db::analysis {

EndedTrials ended_trials(ReadStore& store, std::int64_t sweep, const std::vector<std::string>& by) {
  const auto row = store.sweep(sweep);
  if (!row) throw std::invalid_argument(fmt::format("there is no sweep {}", sweep));
  EndedTrials found{row->metric, row->goal == jobspec::Goal::maximize, {}};
  const Studies studies = studies_of(store, {sweep});
  for (TrialRecord& trial :
       read_records(store, {sweep, by, {}, found.metric, found.maximize, {}})) {
    if (is_final(studies, trial)) continue;
    if (trial.ended() && trial.state != TrialPhase::cancelled)
      found.trials.push_back(std::move(trial));
    else
      ++found.open;
  }
  return found;
}

void add_search_notes(const std::string& metric, bool maximize, std::int64_t open,
                      std::vector<std::string>& notes) {
  if (open > 0)
    notes.push_back("left out, since not ended or cancelled: " + count_of(open, "trial"));
  notes.push_back(fmt::format("{}: {} is better", metric, maximize ? "larger" : "smaller"));
}

Configurations configurations_of(ReadStore& store, std::int64_t sweep,
                                 const std::vector<std::string>& by) {
  EndedTrials ended = ended_trials(store, sweep, by);
  Configurations found{ended.metric, ended.maximize, {}, ended.open};
  const bool maximize = found.maximize;
  const double worst = (maximize ? -1 : 1) * std::numeric_limits<double>::infinity();
  struct Seeds {
    std::vector<jobspec::Value> group;
    std::vector<double> values;
  };
  std::map<std::int64_t, Seeds> seeds;
  for (TrialRecord& trial : ended.trials) {
    Seeds& of = seeds[trial.configuration];
    of.group = std::move(trial.group);
    of.values.push_back(std::isfinite(trial.best) ? trial.best : worst);
  }
  for (auto& [number, of] : seeds) {
    const auto middle = of.values.begin() + static_cast<std::ptrdiff_t>((of.values.size() - 1) / 2);
    if (maximize)
      std::nth_element(of.values.begin(), middle, of.values.end(), std::greater<>());
    else
      std::nth_element(of.values.begin(), middle, of.values.end());
    found.ended.push_back(
        {number, std::move(of.group), *middle, static_cast<std::int64_t>(of.values.size())});
  }
  return found;
}

}  // namespace thalweg::db::analysis
