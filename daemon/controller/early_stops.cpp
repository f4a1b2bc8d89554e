// The record is asked rather than the journal's lines: it has one value a step, whatever attempts
// went over it again. Curves are long and this is the controller's only thread, so what was read is
// remembered; where the record changes it, it is read again from there on.
#include "daemon/controller/early_stops.h"

#include <algorithm>
#include <limits>
#include <set>

namespace thalweg::daemon {

EarlyStops::EarlyStops(db::Store& store) : store_(store) {
  store_.on_rewritten([this](const Id& trial, std::string_view metric, std::int64_t step) {
    note_rewritten(trial, metric, step);
  });
}

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
    known->second.metric = sweep.metric.name;
    if (is_new)
      for (std::size_t i = 0; i < sweep.trials.size(); ++i)
        if (sweep.trials[i].attempts > 0)
          read(sweep, static_cast<std::int64_t>(i + 1), known->second);
    if (!is_new)
      for (const std::int64_t trial : trials)
        read(sweep, trial, known->second);
    for (auto& [trial, history] : known->second.histories)
      history.running = sweep.live.count(trial) != 0 &&
                        sweep.trials[static_cast<std::size_t>(trial - 1)].early.empty();
    for (const auto& [trial, reason] :
         jobspec::ended_early(*sweep.early_terminate, sweep.metric, known->second.histories))
      result.emplace_back(Id{id, trial, 0}, reason);
  }
  return result;
}

/// Only marked here: until a trial has news it counts as it was.
void EarlyStops::note_rewritten(const Id& trial, std::string_view metric, std::int64_t step) {
  const auto it = sweeps_.find(trial.sweep);
  if (it == sweeps_.end() || (!metric.empty() && metric != it->second.metric)) return;
  const auto [from, is_first] = it->second.rewritten.try_emplace(trial.trial, step);
  from->second = std::min(from->second, step);
}

void EarlyStops::read(const SweepState& sweep, std::int64_t trial, Known& into) {
  jobspec::TrialHistory& history = into.histories[trial];
  if (const auto rewritten = into.rewritten.extract(trial)) history.cut(rewritten.mapped());
  const std::int64_t next = history.next_step();
  for (const db::CurvePoint& point :
       store_.curve_end({sweep.id, trial, 0}, sweep.metric.name, next)) {
    ++points_read_;
    if (point.step >= next) history.add(point.step, point.value);
  }
}

}  // namespace thalweg::daemon
