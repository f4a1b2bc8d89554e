// Event -> state: one small function per kind, found through a table.
#include "daemon/state/state.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "daemon/state/events.h"
#include "daemon/state/resources.h"
#include "jobspec/random.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

SweepState& sweep_of(State& state, const Id& id) {
  const auto it = state.sweeps.find(id.sweep);
  if (it == state.sweeps.end()) throw std::invalid_argument("no such sweep");
  return it->second;
}

TrialState& trial_of(SweepState& sweep, const Id& id) {
  if (id.trial < 1 || id.trial > static_cast<std::int64_t>(sweep.trials.size()))
    throw std::invalid_argument("no such trial");
  return sweep.trials[static_cast<std::size_t>(id.trial - 1)];
}

LiveAttempt& live_of(SweepState& sweep, const Id& id) {
  const auto it = sweep.live.find(id.trial);
  if (it == sweep.live.end() || it->second.id != id)
    throw std::invalid_argument("the attempt is not live");
  return it->second;
}

/// On from the last trial's number.
void add_trials(SweepState& sweep, const std::vector<event::Submitted::Shape>& shapes) {
  for (const event::Submitted::Shape& shape : shapes) {
    TrialState trial;
    trial.shape = static_cast<std::uint32_t>(sweep.shapes.size());
    for (std::size_t i = 0; i < shape.count; ++i) {
      sweep.trials.push_back(trial);
      sweep.unstarted.insert(static_cast<std::int64_t>(sweep.trials.size()));
      sweep.open += 1;
    }
    sweep.shapes.push_back(shape.resources);
  }
}

void on_submitted(State& state, const db::Event& event, event::Submitted data) {
  if (state.sweeps.count(event.id.sweep) != 0) throw std::invalid_argument("submitted twice");
  SweepState sweep;
  sweep.id = event.id.sweep;
  sweep.backend = std::move(data.backend);
  sweep.limits = data.limits;
  sweep.metric = std::move(data.metric);
  sweep.slurm = std::move(data.slurm);
  sweep.keep = data.keep;
  sweep.directory = std::move(data.directory);
  sweep.program = std::move(data.program);
  sweep.early_terminate = data.early_terminate;
  sweep.learning = data.learning();
  sweep.promotion = std::move(data.promotion);
  sweep.seed_plan = std::move(data.seed_plan);
  sweep.after = std::move(data.after).value_or(std::vector<std::int64_t>{});
  sweep.unstarted = decltype(sweep.unstarted)(StartOrder{data.start_order});
  sweep.owner = std::move(data.owner);
  if (sweep.learning) sweep.configured = sweep.learning->drawn_trials();
  if (sweep.program) sweep.program->directory = sweep.directory;
  add_trials(sweep, data.shapes);
  sweep.first_shapes = sweep.shapes.size();
  state.sweeps.emplace(sweep.id, std::move(sweep));
}

/// As after the last event of a sweep that has run.
void on_imported(State& state, const db::Event& event, event::Imported data) {
  if (state.sweeps.count(event.id.sweep) != 0) throw std::invalid_argument("imported twice");
  if (data.trials < 1) throw std::invalid_argument("no trials");
  SweepState sweep;
  sweep.id = event.id.sweep;
  sweep.backend = kImported;
  sweep.metric = std::move(data.metric);
  sweep.owner = std::move(data.owner);
  sweep.phase = SweepPhase::finished;
  TrialState trial;
  trial.phase = TrialPhase::finished;
  trial.attempts = 1;
  sweep.trials.assign(static_cast<std::size_t>(data.trials), trial);
  sweep.finished = data.trials;
  sweep.shapes.emplace_back();
  sweep.first_shapes = 1;
  state.sweeps.emplace(sweep.id, std::move(sweep));
}

/// Trials that are to run: what stopped the sweep before does not count for them.
void reopen(SweepState& sweep) {
  sweep.phase = SweepPhase::active;
  sweep.to_prune = false;
  sweep.cancel = sweep.end_running = false;
  sweep.stopped.clear();
  sweep.failures.clear();
}

void on_trials_added(State& state, const db::Event& event, const event::TrialsAdded& data) {
  SweepState& sweep = sweep_of(state, event.id);
  sweep.limits = data.limits;
  if (data.keep) sweep.keep = *data.keep;
  add_trials(sweep, data.shapes);
  if (!data.shapes.empty()) reopen(sweep);
}

void on_seed_look(State& state, const db::Event& event, const event::SeedLook& data) {
  SweepState& sweep = sweep_of(state, event.id);
  if (!sweep.seed_plan || data.look != sweep.looks_taken + 1 || sweep.open > 0)
    throw std::invalid_argument("that look is not due");
  sweep.looks_taken = data.look;
  sweep.looks_over = data.over;
  for (const event::SeedLook::Closed& row : data.closed)
    sweep.closed_rows.emplace(row.configuration, row.reason);
  add_trials(sweep, data.shapes);
}

void on_launching(State& state, const db::Event& event, const event::Launching& data) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (sweep.live.count(event.id.trial) != 0)
    throw std::invalid_argument("the trial is live already");
  if (event.id.attempt != trial.attempts + 1) throw std::invalid_argument("not the next attempt");
  LiveAttempt attempt;
  attempt.id = event.id;
  attempt.token = data.token;
  attempt.push_secret = data.push_secret;
  attempt.nodes = data.nodes;
  attempt.size = data.size.value_or(sweep.shape(event.id.trial).nodes);
  attempt.without = data.without.value_or(std::vector<std::string>());
  trial.attempts += 1;
  sweep.unstarted.erase(event.id.trial);
  sweep.awaiting_decision.erase(event.id.trial);
  sweep.last_launch = event.number;
  sweep.nodes_in_flight += attempt.size;
  state.tokens[attempt.token] = event.id;
  if (!attempt.push_secret.empty()) state.secrets[attempt.push_secret] = event.id;
  sweep.live.emplace(event.id.trial, std::move(attempt));
}

void on_recorded(State& state, const db::Event& event, const event::Recorded& data) {
  LiveAttempt& attempt = live_of(sweep_of(state, event.id), event.id);
  attempt.handle = data.handle;
  attempt.phase = AttemptPhase::recorded;
}

void on_released(State& state, const db::Event& event, const event::Released&) {
  live_of(sweep_of(state, event.id), event.id).phase = AttemptPhase::released;
}

void on_running(State& state, const db::Event& event, const event::Running& data) {
  SweepState& sweep = sweep_of(state, event.id);
  LiveAttempt& attempt = live_of(sweep, event.id);
  attempt.phase = AttemptPhase::running;
  attempt.started = data.started;
  attempt.node_list = data.node_list;
  attempt.gpus = data.gpus.value_or(std::vector<std::string>());
  if (data.size) {
    sweep.nodes_in_flight += *data.size - attempt.size;
    attempt.nodes = attempt.size = *data.size;
  }
  trial_of(sweep, event.id).phase = TrialPhase::running;
}

void on_fenced(State& state, const db::Event& event, const event::Fenced& data) {
  live_of(sweep_of(state, event.id), event.id).fenced = data.reason;
}

void on_clock_set(State& state, const db::Event& event, const event::ClockSet& data) {
  live_of(sweep_of(state, event.id), event.id).clock_set += data.seconds;
}

void on_ending(State& state, const db::Event& event, const event::Ending& data) {
  state.ending.emplace(event.id, data.handle);
}

void count_usage(State& state, const SweepState& sweep, const LiveAttempt& attempt,
                 const db::Event& event, const event::Ended& data) {
  if (!sweep.owner) return;
  const double ended = data.ended.value_or(event.time);
  const double started = attempt.started > 0 ? attempt.started : data.started.value_or(ended);
  const double used = data.node_seconds.value_or(0);
  state.usage.users[sweep.owner->user].add(started, ended, used);
  if (const std::string account = sweep.account(); !account.empty())
    state.usage.accounts[account].add(started, ended, used);
}

/// Nodes, or GPUs where it had some of one machine to itself, one for each rank or all for one.
void count_health(SweepState& sweep, const LiveAttempt& attempt, const db::Event& event,
                  const event::Ended& data) {
  const std::vector<std::string> gpus = data.gpus.value_or(attempt.gpus);
  if (gpus.empty()) {
    count_end(sweep.nodes, event.id.trial, data.cause, data.node_list.value_or(attempt.node_list),
              data.node.value_or(""), event.time);
    return;
  }
  std::vector<std::string> places;
  for (const std::string& gpu : gpus)
    places.push_back(gpu_place(gpu));
  const bool each_rank = static_cast<int>(gpus.size()) == sweep.shape_of(attempt).ranks();
  const std::size_t rank =
      data.rank && *data.rank >= 0 ? static_cast<std::size_t>(*data.rank) : places.size();
  const std::string failed = each_rank && rank < places.size() ? places[rank] : "";
  count_end(sweep.nodes, event.id.trial, data.cause, places, failed, event.time);
}

void on_ended(State& state, const db::Event& event, const event::Ended& data) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  const LiveAttempt& attempt = live_of(sweep, event.id);
  state.tokens.erase(attempt.token);
  state.secrets.erase(attempt.push_secret);
  if (!attempt.push_secret.empty()) state.past_secrets.insert(attempt.push_secret);
  sweep.nodes_in_flight -= attempt.size;
  if (attempt.started > 0 || data.started) {
    trial.nodes = data.size.value_or(attempt.size);
    if (data.cause == EndCause::lost || data.cause == EndCause::failed) sweep.losses += 1;
  }
  sweep.node_seconds += data.node_seconds.value_or(0);
  count_usage(state, sweep, attempt, event, data);
  count_health(sweep, attempt, event, data);
  sweep.live.erase(event.id.trial);

  trial.phase = TrialPhase::pending;
  trial.last = data.cause;
  trial.last_end = event.time;
  trial.reason = data.reason;
  const std::int64_t step = data.step.value_or(0);
  const bool further = step > trial.best_step;
  trial.best_step = std::max(trial.best_step, step);
  if (trial.last == EndCause::failed) trial.failures += 1;
  if (trial.last == EndCause::stopped || trial.last == EndCause::lost)
    trial.no_progress_exits = further ? 0 : trial.no_progress_exits + 1;
  if (data.cause != EndCause::paused) {
    sweep.awaiting_decision.insert(event.id.trial);
    return;
  }
  trial.no_progress_exits = 0;
  trial.paused = true;
  trial.at_rungs.resize(trial.rung + 1);
  trial.at_rungs.back() = data.value;
  sweep.paused.insert(event.id.trial);
}

/// It goes on at once, as if nothing had ended.
void on_promoted(State& state, const db::Event& event, const event::Promoted& data) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (sweep.paused.erase(event.id.trial) == 0) throw std::invalid_argument("it has not paused");
  trial.paused = false;
  trial.rung = static_cast<std::size_t>(data.rung - 1);
  trial.last = EndCause::none;
  sweep.awaiting_decision.insert(event.id.trial);
}

std::int64_t& count_of(SweepState& sweep, TrialPhase phase) {
  if (phase == TrialPhase::finished) return sweep.finished;
  return phase == TrialPhase::failed ? sweep.failed : sweep.cancelled;
}

void on_trial_ended(State& state, const db::Event& event, const event::TrialEnded& data) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (sweep.live.count(event.id.trial) != 0) throw std::invalid_argument("an attempt is live");
  if (is_over(trial.phase)) throw std::invalid_argument("the trial ended twice");
  trial.phase = data.state;
  if (!is_over(trial.phase)) throw std::invalid_argument("not an end");
  trial.reason = data.reason;
  sweep.unstarted.erase(event.id.trial);
  sweep.awaiting_decision.erase(event.id.trial);
  sweep.paused.erase(event.id.trial);
  trial.paused = false;
  sweep.open -= 1;
  count_of(sweep, trial.phase) += 1;
  if (trial.phase == TrialPhase::failed) sweep.failures[failure_key(trial.last, trial.reason)] += 1;
}

void on_stopped(State& state, const db::Event& event, const event::Stopped& data) {
  SweepState& sweep = sweep_of(state, event.id);
  sweep.stopped = data.reason;
  sweep.end_running = data.end_running;
}

void on_sweep_ended(State& state, const db::Event& event, const event::SweepEnded& data) {
  SweepState& sweep = sweep_of(state, event.id);
  if (sweep.open != 0) throw std::invalid_argument("a trial is still open");
  sweep.phase = data.state;
  sweep.to_prune = !sweep.keep.everything();
}

void on_cancel_requested(State& state, const db::Event& event, const event::CancelRequested&) {
  SweepState& sweep = sweep_of(state, event.id);
  (event.id.trial == 0 ? sweep.cancel : trial_of(sweep, event.id).cancel) = true;
}

void on_terminated_early(State& state, const db::Event& event, const event::TerminatedEarly& data) {
  trial_of(sweep_of(state, event.id), event.id).early = data.reason;
}

void on_chosen(State& state, const db::Event& event, const event::Chosen&) {
  SweepState& sweep = sweep_of(state, event.id);
  const TrialState& trial = trial_of(sweep, event.id);
  if (sweep.unstarted.count(event.id.trial) == 0 && (!is_over(trial.phase) || trial.attempts > 0))
    throw std::invalid_argument("the trial has started");
  sweep.configured = std::max(sweep.configured, event.id.trial);
}

/// An ended trial is to run again.
void reopen(SweepState& sweep, std::int64_t number, TrialState& trial) {
  count_of(sweep, trial.phase) -= 1;
  sweep.open += 1;
  reopen(sweep);
  trial.phase = TrialPhase::pending;
  trial.failures = trial.no_progress_exits = 0;
  trial.cancel = false;
  trial.early.clear();
  trial.last = EndCause::none;
  trial.reason.clear();
  sweep.unstarted.insert(number);
}

void on_retry_requested(State& state, const db::Event& event, const event::RetryRequested&) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (!is_over(trial.phase)) throw std::invalid_argument("the trial has not ended");
  reopen(sweep, event.id.trial, trial);
}

void on_lengthened(State& state, const db::Event& event, const event::Lengthened&) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (!is_over(trial.phase)) throw std::invalid_argument("the trial has not ended");
  if (trial.phase == TrialPhase::finished) reopen(sweep, event.id.trial, trial);
}

void on_shared(State& state, const db::Event& event, const event::Shared& data) {
  sweep_of(state, event.id).groups = data.groups;
}

void on_pruned(State& state, const db::Event& event, const event::Pruned& data) {
  SweepState& sweep = sweep_of(state, event.id);
  if (data.policy) sweep.to_prune = false;
  const bool curves_only = data.freed_bytes == 0 && data.removed_points > 0;
  if (!curves_only) sweep.pruned = event.time;
  sweep.freed_bytes += data.freed_bytes;
}

void on_removing(State& state, const db::Event& event, const event::Removing&) {
  SweepState& sweep = sweep_of(state, event.id);
  if (sweep.phase == SweepPhase::active) throw std::invalid_argument("the sweep has not ended");
  sweep.removing = true;
}

void on_removed(State& state, const db::Event& event, const event::Removed&) {
  if (!sweep_of(state, event.id).removing) throw std::invalid_argument("without a request");
  state.sweeps.erase(event.id.sweep);
}

struct Row {
  std::string_view kind;
  void (*apply)(State&, const db::Event&);
};

/// The row of one kind, whose data `on` gets as its struct.
template <class E, auto on>
constexpr Row row() {
  return {E::kind, [](State& state, const db::Event& event) {
            on(state, event, from_json<E>(json::parse(event.data)));
          }};
}

/// Kinds that are not here (notes) change no state.
constexpr Row table[] = {
    row<event::Submitted, on_submitted>(),
    row<event::Imported, on_imported>(),
    row<event::Launching, on_launching>(),
    row<event::Recorded, on_recorded>(),
    row<event::Released, on_released>(),
    row<event::Running, on_running>(),
    row<event::Fenced, on_fenced>(),
    row<event::ClockSet, on_clock_set>(),
    row<event::Ending, on_ending>(),
    row<event::Ended, on_ended>(),
    row<event::TrialEnded, on_trial_ended>(),
    row<event::Stopped, on_stopped>(),
    row<event::SweepEnded, on_sweep_ended>(),
    row<event::CancelRequested, on_cancel_requested>(),
    row<event::TerminatedEarly, on_terminated_early>(),
    row<event::Chosen, on_chosen>(),
    row<event::Promoted, on_promoted>(),
    row<event::RetryRequested, on_retry_requested>(),
    row<event::TrialsAdded, on_trials_added>(),
    row<event::SeedLook, on_seed_look>(),
    row<event::Lengthened, on_lengthened>(),
    row<event::Shared, on_shared>(),
    row<event::Pruned, on_pruned>(),
    row<event::Removing, on_removing>(),
    row<event::Removed, on_removed>(),
};

}  // namespace

db::AttemptState state_of(EndCause cause) {
  switch (cause) {
    case EndCause::finished:
      return db::AttemptState::finished;
    case EndCause::stopped:
    case EndCause::paused:
      return db::AttemptState::stopped;
    case EndCause::cancelled:
      return db::AttemptState::cancelled;
    case EndCause::lost:
      return db::AttemptState::lost;
    default:
      return db::AttemptState::failed;
  }
}

db::AttemptState state_of(AttemptPhase phase) {
  if (phase == AttemptPhase::running) return db::AttemptState::running;
  return phase == AttemptPhase::launching ? db::AttemptState::launching : db::AttemptState::queued;
}

const LiveAttempt* State::live_of(const Id& trial_id) const {
  const auto it = sweeps.find(trial_id.sweep);
  if (it == sweeps.end()) return nullptr;
  const auto attempt = it->second.live.find(trial_id.trial);
  return attempt == it->second.live.end() ? nullptr : &attempt->second;
}

const LiveAttempt* State::live(const Id& attempt) const {
  const LiveAttempt* found = live_of(attempt);
  return found != nullptr && found->id == attempt ? found : nullptr;
}

const TrialState* State::trial(const Id& id) const {
  const auto it = sweeps.find(id.sweep);
  if (it == sweeps.end() || id.trial < 1 ||
      id.trial > static_cast<std::int64_t>(it->second.trials.size()))
    return nullptr;
  return &it->second.trials[static_cast<std::size_t>(id.trial - 1)];
}

bool StartOrder::operator()(std::int64_t first, std::int64_t second) const {
  if (!drawn_from) return first < second;
  constexpr std::uint64_t stream = 0x737461727473;  // "starts": of no axis
  const auto place = [&](std::int64_t trial) {
    return std::pair(jobspec::uniform(*drawn_from, static_cast<std::uint64_t>(trial), stream),
                     trial);
  };
  return place(first) < place(second);
}

void apply(State& state, const db::Event& event) {
  if (event.number <= state.last_event && event.number != 0)
    throw std::runtime_error("event " + std::to_string(event.number) + " comes out of order");
  try {
    for (const Row& row : table)
      if (row.kind == event.kind) row.apply(state, event);
  } catch (const std::exception& error) {
    throw std::runtime_error("event " + std::to_string(event.number) + " (" + event.kind + " " +
                             event.id.to_string() + "): " + error.what());
  }
  state.last_event = event.number;
}

std::string failure_key(EndCause cause, std::string_view reason) {
  std::string key(name_of(cause));
  key += ": ";
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) key += c;
    if (digit && key.back() != '#') key += '#';
  }
  return key;
}

}  // namespace thalweg::daemon
