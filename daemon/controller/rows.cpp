#include "daemon/controller/rows.h"

#include <nlohmann/json.hpp>
#include <set>

#include "daemon/controller/extension.h"
#include "daemon/state/events.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

struct Writer {
  db::Store& store;
  LiveRows& live;
  const State& before;
  const db::Event& event;

  void trial(TrialPhase phase, double ended = 0, const std::string& reason = "") const {
    const TrialState* known = before.trial(event.id);
    db::TrialRow row;
    row.id = {event.id.sweep, event.id.trial, 0};
    row.state = phase;
    row.attempts = std::max<std::int64_t>(known ? known->attempts : 0, event.id.attempt);
    row.ended = ended;
    row.reason = reason;
    store.update_trial(row);
  }

  void sweep(SweepPhase phase, double ended) const {
    db::SweepRow row;
    row.id = event.id.sweep;
    row.state = phase;
    row.ended = ended;
    store.update_sweep(row);
  }

  db::AttemptRow& attempt() const { return live.at(event.id); }

  /// Of an elastic attempt, whose nodes the backend chose.
  template <class E>
  void size(const E& data) const {
    if (!data.size) return;
    const auto sweep = before.sweeps.find(event.id.sweep);
    if (sweep == before.sweeps.end()) return;
    attempt().nodes = *data.size;
    attempt().ranks = *data.size * sweep->second.shape(event.id.trial).ranks_per_node;
    attempt().size_reason = data.size_reason.value_or("");
  }

  // One per kind that changes a row.

  void operator()(const event::Launching& data) const {
    db::AttemptRow row;
    row.id = event.id;
    row.token = data.token;
    row.state = db::AttemptState::launching;
    row.backend = data.backend;
    row.folder = data.folder;
    row.launched = event.time;
    row.nodes = data.nodes;
    row.ranks = data.ranks;
    row.size_reason = data.size_reason.value_or("");
    store.insert_attempt(row);
    live[event.id] = std::move(row);
    trial(TrialPhase::pending);
  }

  void operator()(const event::Recorded& data) const {
    attempt().handle = data.handle;
    attempt().state = db::AttemptState::queued;
    store.update_attempt(attempt());
  }

  void operator()(const event::Running& data) const {
    attempt().state = db::AttemptState::running;
    attempt().started = data.started;
    attempt().eligible = data.eligible.value_or(0);
    attempt().node_list = data.node_list;
    if (data.job_step) attempt().handle = *data.job_step;
    size(data);
    store.update_attempt(attempt());
    trial(TrialPhase::running);
  }

  void operator()(const event::Ended& data) const {
    db::AttemptRow& row = attempt();
    row.state = state_of(data.cause);
    row.reason = data.reason;
    row.ended = data.ended.value_or(event.time);
    if (row.started == 0) row.started = data.started.value_or(0);
    if (row.eligible == 0) row.eligible = data.eligible.value_or(0);
    if (row.node_list.empty()) row.node_list = data.node_list.value_or("");
    if (data.job_step) row.handle = *data.job_step;
    size(data);
    if (data.exit_code) row.exit_code = data.exit_code;
    if (data.rank) row.failed_rank = data.rank;
    row.failed_node = data.node.value_or("");
    store.update_attempt(row);
    live.erase(event.id);
    trial(TrialPhase::pending);
  }

  void operator()(const event::TrialEnded& data) const {
    trial(data.state, event.time, data.reason);
  }

  void operator()(const event::SweepEnded& data) const { sweep(data.state, event.time); }

  void operator()(const event::RetryRequested&) const {
    trial(TrialPhase::pending);
    sweep(SweepPhase::active, 0);
  }

  void operator()(const event::Lengthened& data) const {
    const Id id{event.id.sweep, event.id.trial, 0};
    store.update_trial_train(id, data.train, data.hash);
    if (before.trial(id)->phase != TrialPhase::finished) return;
    trial(TrialPhase::pending);
    sweep(SweepPhase::active, 0);
  }

  void operator()(const event::Chosen& data) const {
    store.update_trial_configuration({event.id.sweep, event.id.trial, 0}, data.parameters,
                                     data.train, data.hash);
  }

  void operator()(const event::Labelled& data) const {
    db::SweepRow row;
    row.id = event.id.sweep;
    row.name = data.name;
    row.comment = data.comment;
    row.tags = data.tags;
    store.update_labels(row);
  }

  void operator()(const event::Archived& data) const {
    store.update_archived(event.id.sweep, data.on ? event.time : 0);
  }

  void operator()(const event::Relocated& data) const { store.relocate(data.from, data.to); }

  void operator()(const event::Removed&) const { store.remove_sweep(event.id.sweep); }

  void operator()(const event::SeedLook& data) const {
    if (data.last_seed == 0) return;
    std::set<std::int64_t> closed;
    for (const auto& [configuration, reason] : before.sweeps.at(event.id.sweep).closed_rows)
      closed.insert(configuration);
    for (const event::SeedLook::Closed& row : data.closed)
      closed.insert(row.configuration);
    store.insert_trials(
        next_seeds(store.trials(event.id.sweep), closed, data.first_seed, data.last_seed));
  }

  void operator()(const event::TrialsAdded& data) const {
    if (!data.shapes.empty()) sweep(SweepPhase::active, 0);
  }
};

template <class E>
void write(const Writer& writer) {
  if (is<E>(writer.event)) writer(from_json<E>(json::parse(writer.event.data)));
}

}  // namespace

void write_rows(db::Store& store, LiveRows& live, const State& before, const db::Event& event) {
  const Writer writer{store, live, before, event};
  write<event::Launching>(writer);
  write<event::Recorded>(writer);
  write<event::Running>(writer);
  write<event::Ended>(writer);
  write<event::TrialEnded>(writer);
  write<event::SweepEnded>(writer);
  write<event::RetryRequested>(writer);
  write<event::TrialsAdded>(writer);
  write<event::SeedLook>(writer);
  write<event::Lengthened>(writer);
  write<event::Chosen>(writer);
  write<event::Labelled>(writer);
  write<event::Archived>(writer);
  write<event::Relocated>(writer);
  write<event::Removed>(writer);
}

}  // namespace thalweg::daemon
