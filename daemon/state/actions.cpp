#include "daemon/state/actions.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.h"
#include "daemon/state/promotions.h"
#include "daemon/state/seed_looks.h"
#include "daemon/state/sizes.h"

namespace thalweg::daemon {

namespace {

using Kind = Action::Kind;

Id trial_id(const SweepState& sweep, std::int64_t trial) {
  return {sweep.id, trial, 0};
}

const TrialState& trial_at(const SweepState& sweep, std::int64_t trial) {
  return sweep.trials[static_cast<std::size_t>(trial - 1)];
}

bool wants_end(const SweepState& sweep, const TrialState& trial) {
  return sweep.cancel || trial.cancel || !trial.early.empty() ||
         (!sweep.stopped.empty() && sweep.end_running);
}

std::string end_reason(const SweepState& sweep, const TrialState& trial) {
  if (sweep.cancel || trial.cancel) return "cancelled";
  return trial.early.empty() ? sweep.stopped : trial.early;
}

/// What it has reached is its result: it is finished, unless somebody wants it cancelled.
bool ends_early(const SweepState& sweep, const TrialState& trial) {
  return !trial.early.empty() && !sweep.cancel && !trial.cancel;
}

/// What the last end of a trial means: its own end, or a launch `pause` seconds after `since`.
struct Decision {
  std::optional<Action> end;
  double since = 0, pause = 0;

  /// When to launch. An end in the future says that the clock was set back since then: how much of
  /// the pause has gone cannot be known, and it must not last until that time comes again.
  double when(double now) const { return since > now ? 0 : since + pause; }
};

Decision end_as(const SweepState& sweep, std::int64_t number, TrialPhase phase,
                std::string reason) {
  return {Action{Kind::end_trial, trial_id(sweep, number), std::move(reason), phase}};
}

Decision decide(const SweepState& sweep, std::int64_t number, const Policy& policy) {
  const TrialState& trial = trial_at(sweep, number);
  switch (trial.last) {
    case EndCause::finished:
      return end_as(sweep, number, TrialPhase::finished, "");
    case EndCause::cancelled:
      if (ends_early(sweep, trial)) return end_as(sweep, number, TrialPhase::finished, trial.early);
      return end_as(sweep, number, TrialPhase::cancelled, trial.reason);
    case EndCause::bad_input:
    case EndCause::refused:
    case EndCause::diverged:
      return end_as(sweep, number, TrialPhase::failed, trial.reason);
    default:
      break;
  }
  if (ends_early(sweep, trial)) return end_as(sweep, number, TrialPhase::finished, trial.early);
  if (wants_end(sweep, trial))
    return end_as(sweep, number, TrialPhase::cancelled, end_reason(sweep, trial));
  if (trial.last == EndCause::failed) {
    if (trial.failures > sweep.limits.max_retries || !sweep.stopped.empty())
      return end_as(sweep, number, TrialPhase::failed, trial.reason);
    return {std::nullopt, trial.last_end, backoff_s(policy, trial.failures)};
  }
  if (!sweep.stopped.empty())
    return end_as(sweep, number, TrialPhase::cancelled, "not run: " + sweep.stopped);
  if (trial.last == EndCause::none) return {};
  if (trial.no_progress_exits >= policy.no_progress_exits)
    return end_as(
        sweep, number, TrialPhase::failed,
        fmt::format("{} attempts in a row ended without getting further than step {}; the last: {}",
                    trial.no_progress_exits, trial.best_step, trial.reason));
  return {std::nullopt, trial.last_end, backoff_s(policy, trial.no_progress_exits)};
}

double node_hours(const SweepState& sweep, double now) {
  double seconds = sweep.node_seconds;
  for (const auto& [number, attempt] : sweep.live)
    seconds += attempt.nodes * attempt.ran_s(now);
  return seconds / kSecondsPerHour;
}

/// Why the sweep should start nothing more, where there is a new reason.
std::optional<Action> stop(const SweepState& sweep, double now, const Policy& policy) {
  if (!sweep.stopped.empty() || sweep.cancel || sweep.open == 0) return {};
  const auto end_all = [&](std::string reason) {
    return Action{Kind::stop_sweep,    {sweep.id, 0, 0},   std::move(reason),
                  TrialPhase::pending, SweepPhase::active, true};
  };
  const double budget = sweep.limits.node_hours, deadline = sweep.limits.deadline;
  if (budget > 0 && node_hours(sweep, now) >= budget)
    return end_all(fmt::format("the budget limits.node_hours = {} is spent", budget));
  if (deadline > 0 && now >= deadline) return end_all("its deadline (limits.deadline) has passed");
  if (sweep.finished > 0) return {};
  for (const auto& [key, count] : sweep.failures) {
    if (key.starts_with(name_of(EndCause::diverged))) continue;  // a result, not a fault
    const bool at_once = key.starts_with(name_of(EndCause::bad_input)) ||
                         key.starts_with(name_of(EndCause::refused));
    if (count >= (at_once ? policy.bad_input_trials : policy.failing_trials))
      return Action{Kind::stop_sweep,
                    {sweep.id, 0, 0},
                    fmt::format("the first {} trials all failed in the same way ({})", count, key)};
  }
  return {};
}

/// Ended by somebody who did not ask us: its result is missing, and nobody here wanted that.
bool cancelled_outside(const TrialState& trial) {
  return trial.phase == TrialPhase::cancelled && !trial.cancel;
}

SweepPhase end_state(const SweepState& sweep) {
  SweepPhase phase = SweepPhase::finished;
  if (sweep.cancel)
    phase = SweepPhase::cancelled;
  else if (sweep.failed > 0 || !sweep.stopped.empty())
    phase = SweepPhase::failed;
  else if (sweep.cancelled > 0 &&
           (sweep.finished == 0 ||
            std::any_of(sweep.trials.begin(), sweep.trials.end(), cancelled_outside)))
    phase = SweepPhase::cancelled;
  return phase;
}

/// One sweep's part of a round of launches.
struct Candidate {
  const SweepState* sweep = nullptr;
  std::vector<std::int64_t> trials;  ///< in the order they should start; taken from `next` on
  std::size_t next = 0;
  std::int64_t nodes = 0;  ///< in flight, with what this round plans
  std::int64_t turn = 0;   ///< of its latest launch
};

/// Trials that have paused: their end, or the next that goes on.
void plan_paused(const SweepState& sweep, Plan& plan) {
  const auto next = next_promotion(sweep);
  if (next) {
    plan.actions.push_back({Kind::promote, trial_id(sweep, next->trial), next->reason});
    return;
  }
  const bool over = only_paused_left(sweep) && sweep.promotion;
  for (const std::int64_t number : sweep.paused) {
    const TrialState& trial = trial_at(sweep, number);
    const std::string result = at_rung(sweep, number);
    const auto end = [&](TrialPhase phase, std::string reason) {
      plan.actions.push_back({Kind::end_trial, trial_id(sweep, number), std::move(reason), phase});
    };
    const std::string early = std::string(jobspec::early_end_reason) + result;
    if (sweep.cancel || trial.cancel)
      end(TrialPhase::cancelled, "cancelled");
    else if (!sweep.stopped.empty())
      end(TrialPhase::finished, early + "; " + sweep.stopped);
    else if (over)
      end(TrialPhase::finished,
          fmt::format("{}, others went on ({})", early, sweep.promotion->method));
    else
      plan.waiting[trial_id(sweep, number)] =
          fmt::format("paused: {}; it continues if it is among the best 1/{:g} ({})", result,
                      sweep.promotion->reduction_factor, sweep.promotion->method);
  }
}

/// Ends of trials as actions; trials that may start now, retries first.
Candidate plan_trials(const SweepState& sweep, const Facts& facts, const Policy& policy,
                      Plan& plan) {
  Candidate candidate{&sweep, {}, 0, sweep.nodes_in_flight, sweep.last_launch};
  for (const std::int64_t number : sweep.awaiting_decision) {
    Decision decision = decide(sweep, number, policy);
    if (decision.end) {
      plan.actions.push_back(*std::move(decision.end));
    } else if (const double when = decision.when(facts.now); when > facts.now) {
      plan.waiting[trial_id(sweep, number)] =
          fmt::format("next attempt in {:.0f} s", std::ceil(when - facts.now));
      plan.next = plan.next == 0 ? when : std::min(plan.next, when);
    } else {
      candidate.trials.push_back(number);
    }
  }
  const bool none = sweep.cancel || !sweep.stopped.empty();
  for (const std::int64_t number : sweep.unstarted) {
    if (none || trial_at(sweep, number).cancel) {
      Decision decision = decide(sweep, number, policy);
      plan.actions.push_back(*std::move(decision.end));
    } else if (!sweep.has_configuration(number)) {
      break;  // nor have those that follow
    } else if (static_cast<int>(candidate.trials.size()) < policy.launches_per_round) {
      candidate.trials.push_back(number);
    }
  }
  return candidate;
}

/// The sweep that it waits for; 0: none. One that was removed has ended.
std::int64_t waits_for(const SweepState& sweep, const State& state) {
  for (const std::int64_t id : sweep.after) {
    const auto other = state.sweeps.find(id);
    if (other != state.sweeps.end() && other->second.phase == SweepPhase::active) return id;
  }
  return 0;
}

/// In the first stage of a study: what its winners wait for.
void tell_stage(const SweepState& sweep, Plan& plan) {
  if (!sweep.learning || !jobspec::waits_for_draws(*sweep.learning) || sweep.unstarted.empty() ||
      sweep.has_configuration(*sweep.unstarted.rbegin()))
    return;
  const std::int64_t draws = sweep.learning->drawn_trials();
  const auto ended =
      std::count_if(sweep.trials.begin(), sweep.trials.begin() + static_cast<std::ptrdiff_t>(draws),
                    [](const TrialState& trial) { return is_over(trial.phase); });
  const std::string text = fmt::format(
      "stage 2 of 2, the best draw with a fresh seed: when all draws have ended ({} of {} have)",
      ended, draws);
  for (auto it = sweep.unstarted.rbegin();
       it != sweep.unstarted.rend() && !sweep.has_configuration(*it); ++it)
    plan.waiting[trial_id(sweep, *it)] = text;
  plan.waiting.try_emplace(
      {sweep.id, 0, 0},
      fmt::format("stage 1 of 2: {} of {} draws have ended; then the best of each value runs with "
                  "fresh seeds (trials {} to {})",
                  ended, draws, draws + 1, sweep.trials.size()));
}

/// Launches by turn: of the user with the fewest nodes in flight the sweep with the fewest, then
/// the one that waited longest. A sweep whose turn it is and that finds no room keeps the backend
/// for itself, else wide trials would starve behind narrow ones.
void plan_launches(std::vector<Candidate> candidates, const State& state, const Facts& facts,
                   const Policy& policy, Plan& plan) {
  std::map<std::string, std::vector<jobspec::Resources>> running;
  for (const auto& [id, sweep] : state.sweeps)
    for (const auto& [number, attempt] : sweep.live)
      running[sweep.backend].push_back(sweep.shape_of(attempt));
  std::set<std::string> full;
  Ledger ledger(state, policy.quotas, facts.now);
  std::int64_t turn = state.last_event;
  for (int launches = 0; launches < policy.launches_per_round;) {
    Candidate* chosen = nullptr;
    for (Candidate& c : candidates) {
      if (c.next == c.trials.size() || full.count(c.sweep->backend) != 0) continue;
      const auto rank = [&](const Candidate& one) {
        return std::tuple(ledger.nodes_of_user(*one.sweep), one.nodes, one.turn);
      };
      if (chosen == nullptr || rank(c) < rank(*chosen)) chosen = &c;
    }
    if (chosen == nullptr) return;
    const SweepState& sweep = *chosen->sweep;
    const std::int64_t number = chosen->trials[chosen->next];
    const jobspec::Resources& wanted = sweep.shape(number);
    const Id sweep_id{sweep.id, 0, 0};
    std::int64_t left = sweep.limits.max_nodes_in_flight - chosen->nodes;
    if (chosen->nodes > 0 && wanted.required_nodes() > left) {
      plan.waiting[sweep_id] =
          fmt::format("{} in flight (limits.max_nodes_in_flight = {})",
                      count_of(chosen->nodes, "node"), sweep.limits.max_nodes_in_flight);
      chosen->next = chosen->trials.size();
      continue;
    }
    if (const Ledger::Left quota = ledger.left(sweep); quota.nodes) {
      left = std::min(left, *quota.nodes);
      if (wanted.required_nodes() > left) {
        plan.waiting[sweep_id] = quota.reason;
        chosen->next = chosen->trials.size();
        continue;
      }
    }
    auto& beside = running[sweep.backend];
    const auto has_room = [&](const jobspec::Resources& asked) {
      return !facts.has_room || facts.has_room(sweep.backend, asked, beside);
    };
    AttemptSize size = size_of_next(wanted, left, has_room);
    if (size.nodes == 0) {
      full.insert(sweep.backend);
      continue;
    }
    Action launch{Kind::launch, {sweep.id, number, trial_at(sweep, number).attempts + 1}};
    launch.nodes = size.nodes;
    launch.reason = std::move(size.offer);
    if (sweep.slurm.option("nodelist").empty())
      launch.without = nodes_to_avoid(
          sweep.nodes, are_gpus(sweep.nodes) ? size.nodes * wanted.gpus_per_node : size.nodes,
          facts.now);
    plan.actions.push_back(std::move(launch));
    beside.push_back(wanted.at_most(size.nodes));
    chosen->nodes += size.nodes;
    ledger.take(sweep, size.nodes);
    chosen->turn = ++turn;
    chosen->next += 1;
    ++launches;
  }
}

}  // namespace

std::optional<Action> next_of(const SweepState& sweep, const LiveAttempt& attempt) {
  const TrialState& trial = trial_at(sweep, attempt.id.trial);
  const bool launching = attempt.phase == AttemptPhase::launching;
  // Without a recorded handle it was never released: nothing of it can run.
  if (wants_end(sweep, trial))
    return Action{launching ? Kind::drop : Kind::cancel, attempt.id, end_reason(sweep, trial)};
  if (launching) return Action{Kind::submit, attempt.id};
  if (attempt.phase == AttemptPhase::recorded) return Action{Kind::release, attempt.id};
  return {};
}

std::optional<std::int64_t> next_choice(const SweepState& sweep) {
  const bool ends = sweep.phase != SweepPhase::active || sweep.cancel || !sweep.stopped.empty();
  if (!sweep.learning || ends || sweep.unstarted.empty()) return {};
  const std::int64_t first = *sweep.unstarted.begin();
  if (sweep.has_configuration(first)) return {};
  const auto under_way =
      static_cast<std::int64_t>(sweep.live.size() + sweep.awaiting_decision.size());
  if (under_way >= sweep.learning->parallel) return {};
  if (const auto size = sweep.learning->generation)
    for (std::int64_t before = (first - 1) / *size * *size; before > 0; --before)
      if (!is_over(trial_at(sweep, before).phase)) return {};
  return first;
}

std::string stop_reason(const SweepState& sweep, std::int64_t trial) {
  const TrialState& state = trial_at(sweep, trial);
  return wants_end(sweep, state) ? end_reason(sweep, state) : "";
}

double backoff_s(const Policy& policy, int count) {
  if (count <= 0) return 0;
  return std::min(policy.max_backoff_s,
                  policy.first_backoff_s * std::pow(policy.backoff_factor, count - 1));
}

Plan actions(const State& state, const Facts& facts, const Policy& policy) {
  Plan plan;
  std::vector<Candidate> candidates;
  for (const auto& [id, sweep] : state.sweeps) {
    if (sweep.phase != SweepPhase::active) continue;
    if (due_look(sweep)) {
      plan.actions.push_back({Kind::look, {id, 0, 0}});
      continue;
    }
    if (sweep.open == 0) {
      plan.actions.push_back(
          {Kind::end_sweep, {id, 0, 0}, "", TrialPhase::pending, end_state(sweep)});
      continue;
    }
    // What follows depends on whether it stops: decide that first, the rest in the next round.
    if (auto action = stop(sweep, facts.now, policy)) {
      plan.actions.push_back(*std::move(action));
      continue;
    }
    for (const auto& [number, attempt] : sweep.live)
      if (auto action = next_of(sweep, attempt)) plan.actions.push_back(*std::move(action));
    if (!sweep.paused.empty()) plan_paused(sweep, plan);
    candidates.push_back(plan_trials(sweep, facts, policy, plan));
    if (const std::int64_t first = waits_for(sweep, state); first != 0) {
      candidates.back().trials.clear();
      plan.waiting[{id, 0, 0}] = fmt::format("starts when sweep {} has ended (after)", first);
    }
  }
  std::vector<Candidate> waiting = candidates;
  plan_launches(std::move(candidates), state, facts, policy, plan);
  for (const Candidate& c : waiting) {
    const Id id{c.sweep->id, 0, 0};
    if (!c.trials.empty())
      plan.waiting.try_emplace(id, "waiting for its turn on the backend " + c.sweep->backend);
    tell_stage(*c.sweep, plan);
    if (plan.waiting.count(id) == 0 && c.sweep->learning && !c.sweep->unstarted.empty())
      plan.waiting[id] =
          fmt::format("its configuration is chosen when fewer than {} trials run ({}.parallel)",
                      c.sweep->learning->parallel, c.sweep->learning->method);
  }
  return plan;
}

}  // namespace thalweg::daemon
