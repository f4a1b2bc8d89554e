#include "daemon/server/views.h"

#include <nlohmann/json.hpp>

#include "daemon/api/messages.h"
#include "jobspec/metric_names.h"

namespace thalweg::daemon {

using api::number_json;
using nlohmann::json;

namespace {

/// Columns that hold JSON; what is no JSON is shown as text.
json parsed(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

const db::ReadStore::Latest* find(const TrialMetrics& metrics, const std::string& name) {
  for (const auto* metric : metrics)
    if (metric->metric == name) return metric;
  return nullptr;
}

void put_training(const db::SweepRow& sweep, const TrialMetrics& metrics, json& progress) {
  std::int64_t step = -1;
  for (const auto* metric : metrics)
    step = std::max(step, metric->step);
  if (step >= 0) progress["step"] = step;
  if (const auto* loss = find(metrics, jobspec::metric::train_loss))
    progress["loss"] = number_json(loss->value);
  if (const auto* epoch = find(metrics, "epoch")) progress["epoch"] = number_json(epoch->value);
  if (const auto* speed = find(metrics, jobspec::metric::samples_per_s))
    progress["samples_per_s"] = number_json(speed->value);
  if (const auto* metric = find(metrics, sweep.metric)) {
    progress["metric"] = number_json(metric->value);
    progress["best"] =
        number_json(sweep.goal == jobspec::Goal::maximize ? metric->max : metric->min);
  }
}

}  // namespace

Counts counts_of(const SweepState& sweep) {
  Counts counts;
  counts.finished = sweep.finished;
  counts.failed = sweep.failed;
  counts.cancelled = sweep.cancelled;
  for (const auto& [number, attempt] : sweep.live)
    if (attempt.phase == AttemptPhase::running) ++counts.running;
  counts.pending = sweep.open - counts.running;
  return counts;
}

json sweep_json(const db::SweepRow& row, const Counts& counts) {
  json result{{"id", std::to_string(row.id)},
              {"name", row.name},
              {"owner", row.owner},
              {"backend", row.backend},
              {"state", name_of(row.state)},
              {"metric", row.metric},
              {"goal", name_of(row.goal)},
              {"target", nullptr},
              {"submitted", row.submitted},
              {"ended", row.ended},
              {"notes", parsed(row.notes)},
              {"file_name", row.file_name},
              {"counts",
               {{"pending", counts.pending},
                {"running", counts.running},
                {"finished", counts.finished},
                {"failed", counts.failed},
                {"cancelled", counts.cancelled}}}};
  if (row.target) result["target"] = number_json(*row.target);
  return result;
}

json attempt_json(const db::AttemptRow& row) {
  json result{{"id", row.id.to_string()},
              {"state", name_of(row.state)},
              {"backend", row.backend},
              {"handle", row.handle},
              {"folder", row.folder},
              {"launched", row.launched},
              {"started", row.started},
              {"ended", row.ended},
              {"nodes", row.nodes},
              {"ranks", row.ranks},
              {"node_list", row.node_list},
              {"reason", row.reason},
              {"exit_code", nullptr},
              {"failed_rank", nullptr},
              {"failed_node", row.failed_node},
              {"journal_lines", row.journal_lines}};
  if (row.exit_code) result["exit_code"] = *row.exit_code;
  if (row.failed_rank) result["failed_rank"] = *row.failed_rank;
  return result;
}

json event_json(const db::Event& event) {
  json data = parsed(event.data);
  if (data.is_object()) {  // not for showing: one proves which job is ours, the other who pushes
    data.erase("token");
    data.erase("push_secret");
  }
  return {{"number", event.number},
          {"time", event.time},
          {"kind", event.kind},
          {"id", event.id.to_string()},
          {"data", data}};
}

json trial_json(const db::TrialRow& row) {
  return {{"id", row.id.to_string()},
          {"configuration", row.configuration},
          {"seed", row.seed},
          {"state", name_of(row.state)},
          {"reason", row.reason},
          {"parameters", parsed(row.parameters)},
          {"resources", parsed(row.resources)},
          {"attempts", row.attempts},
          {"ended", row.ended}};
}

json progress_json(const db::SweepRow& sweep, const db::TrialRow& row, const TrialMetrics& metrics,
                   const SweepView& view) {
  json progress = json::object();
  put_training(sweep, metrics, progress);
  const auto it = view.trials.find(row.id.trial);
  if (row.state == TrialPhase::pending)
    progress["waiting_for"] = it == view.trials.end() ? view.waiting_for : it->second.waiting_for;
  else if (it != view.trials.end() && !it->second.waiting_for.empty())
    progress["waiting_for"] = it->second.waiting_for;
  if (it == view.trials.end()) return progress;
  const TrialView& trial = it->second;
  if (trial.attempt != 0) {
    progress["attempt"] = trial.attempt;
    progress["attempt_state"] = name_of(trial.attempt_state);
  }
  if (trial.steps > 0) progress["steps"] = trial.steps;
  if (trial.epochs > 0) progress["epochs"] = trial.epochs;
  if (trial.steps > 0 && trial.steps_per_s > 0 && progress.contains("step"))
    progress["seconds_left"] =
        (static_cast<double>(trial.steps) - progress["step"].get<double>()) / trial.steps_per_s;
  return progress;
}

json sweep_snapshot(db::ReadStore& store, std::int64_t id, const Counts& counts,
                    const SweepView& view) {
  const auto sweep = store.sweep(id);
  if (!sweep) return nullptr;
  const auto latest = store.latest(id);
  std::map<std::int64_t, TrialMetrics> metrics;
  for (const auto& point : latest)
    metrics[point.trial.trial].push_back(&point);
  json result = sweep_json(*sweep, counts);
  json trials = json::array();
  for (const auto& row : store.trials(id)) {
    json trial = trial_json(row);
    trial["progress"] = progress_json(*sweep, row, metrics[row.id.trial], view);
    trials.push_back(std::move(trial));
  }
  result["trials"] = std::move(trials);
  return result;
}

}  // namespace thalweg::daemon
