// The record is asked rather than the journal's lines: it has one value a step, whatever attempts
// went over it again.
#include "daemon/controller/early_stops.h"

#include <cmath>
#include <set>

namespace thalweg::daemon {

std::vector<std::pair<Id, std::string>> EarlyStops::look(const State& state,
                                                         const std::vector<Id>& news) {
  std::map<std::int64_t, std::set<std::int64_t>> changed;  // trials by sweep
  for (const Id& id : news)
    changed[id.sweep].insert(id.trial);
  std::erase_if(sweeps_, [&](const auto& known) {
    const auto it = state.sweeps.find(known.first);
    return it == state.sweeps.end() || it->second.phase != SweepPhase::active;
  });
  std::vector<std::pair<Id, std::string>> result;
  for (const auto& [id, trials] : changed) {
    const auto it = state.sweeps.find(id);
    if (it == state.sweeps.end() || !it->second.early_terminate) continue;
    const SweepState& sweep = it->second;
    if (sweep.phase != SweepPhase::active) continue;
    const auto [known, is_new] = sweeps_.try_emplace(id);
    if (is_new)
      for (std::size_t i = 0; i < sweep.trials.size(); ++i)
        if (sweep.trials[i].attempts > 0)
          read(sweep, static_cast<std::int64_t>(i + 1), known->second);
    if (!is_new)
      for (const std::int64_t trial : trials)
        read(sweep, trial, known->second);
    for (auto& [trial, history] : known->second)
      history.running = sweep.live.count(trial) != 0 &&
                        sweep.trials[static_cast<std::size_t>(trial - 1)].early.empty();
    for (const auto& [trial, reason] :
         ended_early(*sweep.early_terminate, sweep.metric, known->second))
      result.emplace_back(Id{id, trial, 0}, reason);
  }
  return result;
}

void EarlyStops::read(const SweepState& sweep, std::int64_t trial, Histories& into) {
  TrialHistory& history = into[trial];
  history.values.clear();
  for (const db::CurvePoint& point : store_.curve({sweep.id, trial, 0}, sweep.metric.name, 0))
    history.values.push_back(point.value);
}

}  // namespace thalweg::daemon
