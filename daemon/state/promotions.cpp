// Asynchronous and synchronous successive halving over what the log says of rungs.
#include "daemon/state/promotions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace thalweg::daemon {

namespace {

const TrialState& state_of_trial(const SweepState& sweep, std::int64_t number) {
  return sweep.trials[static_cast<std::size_t>(number - 1)];
}

struct Rung {
  std::vector<std::int64_t> best_first;  ///< trials with a finite value here
  std::size_t came = 0;                  ///< also those without
  std::size_t promoted = 0;
};

Rung rung_at(const SweepState& sweep, std::size_t rung) {
  std::vector<std::pair<double, std::int64_t>> values;
  Rung result;
  const bool maximize = sweep.metric.goal == jobspec::Goal::maximize;
  for (std::size_t i = 0; i < sweep.trials.size(); ++i) {
    const TrialState& trial = sweep.trials[i];
    if (trial.at_rungs.size() <= rung) continue;
    ++result.came;
    if (trial.rung > rung) ++result.promoted;
    if (const auto& value = trial.at_rungs[rung])
      values.emplace_back(maximize ? -*value : *value, static_cast<std::int64_t>(i + 1));
  }
  std::sort(values.begin(), values.end());
  for (const auto& [value, trial] : values)
    result.best_first.push_back(trial);
  return result;
}

/// The best one that waits at the rung, of the first `among`.
std::optional<NextPromotion> waiting_at(const SweepState& sweep, std::size_t number,
                                        const Rung& rung, std::size_t among) {
  for (std::size_t i = 0; i < std::min(among, rung.best_first.size()); ++i) {
    const std::int64_t trial = rung.best_first[i];
    const TrialState& state = state_of_trial(sweep, trial);
    if (!state.paused || state.rung != number || state.cancel) continue;
    return NextPromotion{
        trial, fmt::format("{}, place {} of {}", at_rung(sweep, trial), i + 1, rung.came)};
  }
  return {};
}

std::size_t best_part(const SweepState& sweep, const Rung& rung) {
  return static_cast<std::size_t>(
      std::floor(static_cast<double>(rung.came) / sweep.promotion->reduction_factor));
}

bool under_way(const SweepState& sweep) {
  return !sweep.live.empty() || !sweep.unstarted.empty() || !sweep.awaiting_decision.empty();
}

/// Whether something may still come to the rung. Who has paused below has lost there.
bool is_awaited(const SweepState& sweep, std::size_t rung) {
  return std::any_of(sweep.trials.begin(), sweep.trials.end(), [&](const TrialState& trial) {
    return !is_over(trial.phase) && !trial.paused && trial.rung <= rung;
  });
}

std::optional<NextPromotion> together(const SweepState& sweep) {
  for (std::size_t number = 0; number < sweep.promotion->rungs.size(); ++number) {
    if (is_awaited(sweep, number)) return {};
    const Rung rung = rung_at(sweep, number);
    const std::size_t quota = std::max<std::size_t>(1, best_part(sweep, rung));
    if (rung.promoted >= quota) continue;
    if (auto found = waiting_at(sweep, number, rung, quota)) return found;
  }
  return {};
}

std::optional<NextPromotion> at_once(const SweepState& sweep) {
  const bool one_waits = std::any_of(
      sweep.awaiting_decision.begin(), sweep.awaiting_decision.end(),
      [&](std::int64_t trial) { return state_of_trial(sweep, trial).last == EndCause::none; });
  if (one_waits) return {};
  for (std::size_t number = sweep.promotion->rungs.size(); number-- > 0;) {
    const Rung rung = rung_at(sweep, number);
    if (auto found = waiting_at(sweep, number, rung, best_part(sweep, rung))) return found;
  }
  if (under_way(sweep)) return {};
  for (std::size_t number = sweep.promotion->rungs.size(); number-- > 0;) {
    const Rung rung = rung_at(sweep, number);
    if (rung.promoted > 0) return {};
    if (rung.came > 0) return waiting_at(sweep, number, rung, rung.best_first.size());
  }
  return {};
}

}  // namespace

std::optional<NextPromotion> next_promotion(const SweepState& sweep) {
  const bool ends = sweep.phase != SweepPhase::active || sweep.cancel || !sweep.stopped.empty();
  if (!sweep.promotion || ends || sweep.paused.empty()) return {};
  return sweep.promotion->waits ? together(sweep) : at_once(sweep);
}

bool only_paused_left(const SweepState& sweep) {
  return !sweep.paused.empty() && !under_way(sweep);
}

std::string at_rung(const SweepState& sweep, std::int64_t trial) {
  const TrialState& state = state_of_trial(sweep, trial);
  const std::optional<double> value = state.at_rungs.empty() ? std::nullopt : state.at_rungs.back();
  return fmt::format("{} {} after {}", sweep.metric.name,
                     value ? fmt::format("{:.6g}", *value) : "is no finite number",
                     rung_text(*sweep.promotion, state.at_rungs.size() - 1));
}

}  // namespace thalweg::daemon
