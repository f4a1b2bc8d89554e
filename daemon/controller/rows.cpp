#include "daemon/controller/rows.h"

#include <nlohmann/json.hpp>

#include "daemon/state/events.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

struct Writer {
  db::Store& store;
  LiveRows& live;
  const State& before;
  const db::Event& event;
  json data;

  void trial(TrialPhase phase, double ended = 0, const std::string& reason = "") const {
    const TrialState* known = before.trial(event.id);
    db::TrialRow row;
    row.id = {event.id.sweep, event.id.trial, 0};
    row.state = to_string(phase);
    row.attempts = std::max<std::int64_t>(known ? known->attempts : 0, event.id.attempt);
    row.ended = ended;
    row.reason = reason;
    store.update_trial(row);
  }

  void sweep(SweepPhase phase, double ended) const {
    db::SweepRow row;
    row.id = event.id.sweep;
    row.state = to_string(phase);
    row.ended = ended;
    store.update_sweep(row);
  }

  void launching() const {
    db::AttemptRow row;
    row.id = event.id;
    row.token = data.at("token");
    row.state = "launching";
    row.backend = data.at("backend");
    row.folder = data.at("folder");
    row.launched = event.time;
    row.nodes = data.at("nodes");
    row.ranks = data.at("ranks");
    store.insert_attempt(row);
    live[event.id] = std::move(row);
    trial(TrialPhase::pending);
  }

  db::AttemptRow& attempt() const { return live.at(event.id); }

  void recorded() const {
    attempt().handle = data.at("handle");
    attempt().state = "queued";
    store.update_attempt(attempt());
  }

  void running() const {
    attempt().state = "running";
    attempt().started = data.at("started");
    attempt().node_list = data.value("node_list", "");
    store.update_attempt(attempt());
    trial(TrialPhase::running);
  }

  void ended() const {
    db::AttemptRow& row = attempt();
    row.state = attempt_state(end_cause_from(data.at("cause").get<std::string>()));
    row.reason = data.value("reason", "");
    row.ended = data.value("ended", event.time);
    if (row.started == 0) row.started = data.value("started", 0.0);
    if (row.node_list.empty()) row.node_list = data.value("node_list", "");
    if (data.contains("exit_code")) row.exit_code = data["exit_code"].get<int>();
    if (data.contains("rank")) row.failed_rank = data["rank"].get<int>();
    row.failed_node = data.value("node", "");
    store.update_attempt(row);
    live.erase(event.id);
    trial(TrialPhase::pending);
  }

  void trial_ended() const {
    const auto state = data.at("state").get<std::string>();
    const TrialPhase phase = state == "finished" ? TrialPhase::finished
                             : state == "failed" ? TrialPhase::failed
                                                 : TrialPhase::cancelled;
    trial(phase, event.time, data.value("reason", ""));
  }

  void sweep_ended() const {
    const auto state = data.at("state").get<std::string>();
    sweep(state == "finished" ? SweepPhase::finished
          : state == "failed" ? SweepPhase::failed
                              : SweepPhase::cancelled,
          event.time);
  }

  void retry_requested() const {
    trial(TrialPhase::pending);
    sweep(SweepPhase::active, 0);
  }
};

struct Row {
  std::string_view kind;
  void (Writer::*write)() const;
};

/// Kinds that are not here change no row.
constexpr Row table[] = {
    {kind::launching, &Writer::launching},
    {kind::recorded, &Writer::recorded},
    {kind::running, &Writer::running},
    {kind::ended, &Writer::ended},
    {kind::trial_ended, &Writer::trial_ended},
    {kind::sweep_ended, &Writer::sweep_ended},
    {kind::retry_requested, &Writer::retry_requested},
};

}  // namespace

void write_rows(db::Store& store, LiveRows& live, const State& before, const db::Event& event) {
  const Writer writer{store, live, before, event, json::parse(event.data)};
  for (const Row& row : table)
    if (row.kind == event.kind) (writer.*row.write)();
}

}  // namespace thalweg::daemon
