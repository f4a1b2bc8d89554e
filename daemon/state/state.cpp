// Event -> state: one small function per kind, found through a table.
#include "daemon/state/state.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "daemon/state/events.h"
#include "daemon/state/resources.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 5> trial_phase_names = {"pending", "running", "finished",
                                                               "failed", "cancelled"};
constexpr std::array<std::string_view, 4> sweep_phase_names = {"active", "finished", "failed",
                                                               "cancelled"};
constexpr std::array<std::string_view, 9> cause_names = {"none",      "finished", "stopped",
                                                         "cancelled", "lost",     "failed",
                                                         "bad_input", "refused",  "diverged"};

template <class Enum, std::size_t n>
Enum from_name(const std::array<std::string_view, n>& names, std::string_view text) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  throw std::invalid_argument("'" + std::string(text) + "' is no state");
}

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

void on_submitted(State& state, const db::Event& event, const json& data) {
  if (state.sweeps.count(event.id.sweep) != 0) throw std::invalid_argument("submitted twice");
  SweepState sweep;
  sweep.id = event.id.sweep;
  sweep.backend = data.at("backend");
  const json& limits = data.at("limits");
  sweep.limits.max_nodes_in_flight = limits.at("max_nodes_in_flight");
  sweep.limits.node_hours = limits.at("node_hours");
  sweep.limits.max_retries = limits.at("max_retries");
  sweep.metric = metric_from(data.value("metric", json::object()));
  sweep.slurm = slurm_from(data.value("slurm", json::object()));
  for (const json& shape : data.at("shapes")) {
    TrialState trial;
    trial.shape = static_cast<std::uint32_t>(sweep.shapes.size());
    sweep.trials.insert(sweep.trials.end(), shape.at("count").get<std::size_t>(), trial);
    sweep.shapes.push_back(resources_from(shape));
  }
  sweep.open = static_cast<std::int64_t>(sweep.trials.size());
  for (std::int64_t number = 1; number <= sweep.open; ++number)
    sweep.fresh.insert(sweep.fresh.end(), number);
  state.sweeps.emplace(sweep.id, std::move(sweep));
}

void on_launching(State& state, const db::Event& event, const json& data) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (sweep.live.count(event.id.trial) != 0)
    throw std::invalid_argument("the trial is live already");
  if (event.id.attempt != trial.attempts + 1) throw std::invalid_argument("not the next attempt");
  LiveAttempt attempt;
  attempt.id = event.id;
  attempt.token = data.at("token");
  attempt.push_secret = data.value("push_secret", "");
  attempt.nodes = data.at("nodes");
  trial.attempts += 1;
  sweep.fresh.erase(event.id.trial);
  sweep.resting.erase(event.id.trial);
  sweep.last_launch = event.number;
  sweep.nodes_in_flight += sweep.shape(event.id.trial).nodes;
  state.tokens[attempt.token] = event.id;
  if (!attempt.push_secret.empty()) state.secrets[attempt.push_secret] = event.id;
  sweep.live.emplace(event.id.trial, std::move(attempt));
}

void on_recorded(State& state, const db::Event& event, const json& data) {
  LiveAttempt& attempt = live_of(sweep_of(state, event.id), event.id);
  attempt.handle = data.at("handle");
  attempt.phase = AttemptPhase::recorded;
}

void on_released(State& state, const db::Event& event, const json&) {
  live_of(sweep_of(state, event.id), event.id).phase = AttemptPhase::released;
}

void on_running(State& state, const db::Event& event, const json& data) {
  SweepState& sweep = sweep_of(state, event.id);
  LiveAttempt& attempt = live_of(sweep, event.id);
  attempt.phase = AttemptPhase::running;
  attempt.started = data.at("started");
  trial_of(sweep, event.id).phase = TrialPhase::running;
}

void on_fenced(State& state, const db::Event& event, const json& data) {
  live_of(sweep_of(state, event.id), event.id).fenced = data.at("reason");
}

void on_ended(State& state, const db::Event& event, const json& data) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  const LiveAttempt& attempt = live_of(sweep, event.id);
  state.tokens.erase(attempt.token);
  state.secrets.erase(attempt.push_secret);
  if (!attempt.push_secret.empty()) state.past_secrets.insert(attempt.push_secret);
  sweep.nodes_in_flight -= sweep.shape(event.id.trial).nodes;
  sweep.node_seconds += data.value("node_seconds", 0.0);
  sweep.live.erase(event.id.trial);

  trial.phase = TrialPhase::pending;
  trial.last = end_cause_from(data.at("cause").get<std::string>());
  trial.last_end = event.time;
  trial.reason = data.value("reason", "");
  const std::int64_t step = data.value("step", std::int64_t{0});
  const bool further = step > trial.best_step;
  trial.best_step = std::max(trial.best_step, step);
  if (trial.last == EndCause::failed) trial.failures += 1;
  if (trial.last == EndCause::stopped || trial.last == EndCause::lost)
    trial.idle_ends = further ? 0 : trial.idle_ends + 1;
  sweep.resting.insert(event.id.trial);
}

std::int64_t& count_of(SweepState& sweep, TrialPhase phase) {
  if (phase == TrialPhase::finished) return sweep.finished;
  return phase == TrialPhase::failed ? sweep.failed : sweep.cancelled;
}

void on_trial_ended(State& state, const db::Event& event, const json& data) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (sweep.live.count(event.id.trial) != 0) throw std::invalid_argument("an attempt is live");
  if (is_over(trial.phase)) throw std::invalid_argument("the trial ended twice");
  trial.phase = from_name<TrialPhase>(trial_phase_names, data.at("state").get<std::string>());
  if (!is_over(trial.phase)) throw std::invalid_argument("not an end");
  trial.reason = data.value("reason", "");
  sweep.fresh.erase(event.id.trial);
  sweep.resting.erase(event.id.trial);
  sweep.open -= 1;
  count_of(sweep, trial.phase) += 1;
  if (trial.phase == TrialPhase::failed) sweep.failures[failure_key(trial.last, trial.reason)] += 1;
}

void on_stopped(State& state, const db::Event& event, const json& data) {
  SweepState& sweep = sweep_of(state, event.id);
  sweep.stopped = data.at("reason");
  sweep.end_running = data.value("end_running", false);
}

void on_sweep_ended(State& state, const db::Event& event, const json& data) {
  SweepState& sweep = sweep_of(state, event.id);
  if (sweep.open != 0) throw std::invalid_argument("a trial is still open");
  sweep.phase = from_name<SweepPhase>(sweep_phase_names, data.at("state").get<std::string>());
}

void on_cancel_requested(State& state, const db::Event& event, const json&) {
  SweepState& sweep = sweep_of(state, event.id);
  (event.id.trial == 0 ? sweep.cancel : trial_of(sweep, event.id).cancel) = true;
}

void on_retry_requested(State& state, const db::Event& event, const json&) {
  SweepState& sweep = sweep_of(state, event.id);
  TrialState& trial = trial_of(sweep, event.id);
  if (!is_over(trial.phase)) throw std::invalid_argument("the trial has not ended");
  count_of(sweep, trial.phase) -= 1;
  sweep.open += 1;
  sweep.phase = SweepPhase::active;
  sweep.cancel = sweep.end_running = false;
  sweep.stopped.clear();
  sweep.failures.clear();
  trial.phase = TrialPhase::pending;
  trial.failures = trial.idle_ends = 0;
  trial.cancel = false;
  trial.last = EndCause::none;
  trial.reason.clear();
  sweep.fresh.insert(event.id.trial);
}

void on_note(State&, const db::Event&, const json&) {}

struct Row {
  std::string_view kind;
  void (*apply)(State&, const db::Event&, const json&);
};

constexpr Row table[] = {
    {kind::submitted, on_submitted},
    {kind::launching, on_launching},
    {kind::recorded, on_recorded},
    {kind::released, on_released},
    {kind::running, on_running},
    {kind::fenced, on_fenced},
    {kind::ended, on_ended},
    {kind::trial_ended, on_trial_ended},
    {kind::stopped, on_stopped},
    {kind::sweep_ended, on_sweep_ended},
    {kind::cancel_requested, on_cancel_requested},
    {kind::retry_requested, on_retry_requested},
    {kind::note, on_note},
};

}  // namespace

std::string_view to_string(TrialPhase phase) {
  return trial_phase_names[static_cast<std::size_t>(phase)];
}
std::string_view to_string(SweepPhase phase) {
  return sweep_phase_names[static_cast<std::size_t>(phase)];
}
std::string_view to_string(EndCause cause) {
  return cause_names[static_cast<std::size_t>(cause)];
}
EndCause end_cause_from(std::string_view text) {
  return from_name<EndCause>(cause_names, text);
}

std::string_view attempt_state(EndCause cause) {
  return cause >= EndCause::failed ? to_string(EndCause::failed) : to_string(cause);
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

void apply(State& state, const db::Event& event) {
  if (event.number <= state.last_event && event.number != 0)
    throw std::runtime_error("event " + std::to_string(event.number) + " comes out of order");
  try {
    for (const Row& row : table)
      if (row.kind == event.kind) row.apply(state, event, json::parse(event.data));
  } catch (const std::exception& error) {
    throw std::runtime_error("event " + std::to_string(event.number) + " (" + event.kind + " " +
                             event.id.to_string() + "): " + error.what());
  }
  state.last_event = event.number;
}

std::string failure_key(EndCause cause, std::string_view reason) {
  std::string key(to_string(cause));
  key += ": ";
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) key += c;
    if (digit && key.back() != '#') key += '#';
  }
  return key;
}

}  // namespace thalweg::daemon
