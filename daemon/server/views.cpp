// What the record has, in the messages of the API.
#include "daemon/server/views.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/server/params.h"
#include "daemon/state/seed_looks.h"
#include "db/analysis/warnings.h"
#include "jobspec/metric_names.h"

namespace thalweg::daemon {

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

void put_training(const db::SweepRow& sweep, const TrialMetrics& metrics, api::Progress& progress) {
  const auto put = [&](const std::string& name, std::optional<double>& field) {
    if (const auto* metric = find(metrics, name)) field = metric->value;
  };
  put(jobspec::metric::train_loss, progress.loss);
  put(jobspec::metric::epoch, progress.epoch);
  put(jobspec::metric::samples_per_s, progress.samples_per_s);
  if (const auto* metric = find(metrics, sweep.metric)) {
    progress.metric = metric->value;
    progress.best = metric->best(sweep.goal == jobspec::Goal::maximize);
    if (metric->diverged()) progress.diverged = true;
  }
}

}  // namespace

Counts counts_of(const SweepState& sweep) {
  Counts counts;
  counts.finished = sweep.finished;
  const auto there = static_cast<std::int64_t>(sweep.trials.size());
  if (const std::int64_t most = max_trials(sweep); most > there) counts.to_come = most - there;
  counts.failed = sweep.failed;
  counts.cancelled = sweep.cancelled;
  for (const auto& [number, attempt] : sweep.live)
    if (attempt.phase == AttemptPhase::running) ++counts.running;
  counts.pending = sweep.open - counts.running;
  return counts;
}

api::SweepMessage sweep_message(const db::SweepRow& row, const Counts& counts) {
  api::SweepMessage message;
  message.id = std::to_string(row.id);
  message.name = row.name;
  message.owner = row.owner;
  message.backend = row.backend;
  message.state = name_of(row.state);
  message.metric = row.metric;
  message.goal = name_of(row.goal);
  message.target = row.target;
  message.targets = row.targets;
  message.submitted = row.submitted;
  message.ended = row.ended;
  message.notes = parsed(row.notes);
  message.file_name = row.file_name;
  message.tags = row.tags;
  message.comment = row.comment;
  message.archived = row.archived;
  message.counts = counts;
  return message;
}

api::AttemptMessage attempt_message(const db::AttemptRow& row) {
  api::AttemptMessage message;
  message.id = row.id.to_string();
  message.state = name_of(row.state);
  message.backend = row.backend;
  message.handle = row.handle;
  message.folder = row.folder;
  message.launched = row.launched;
  message.eligible = row.eligible;
  message.started = row.started;
  message.ended = row.ended;
  message.nodes = row.nodes;
  message.ranks = row.ranks;
  message.node_list = row.node_list;
  message.reason = row.reason;
  message.exit_code = row.exit_code;
  message.failed_rank = row.failed_rank;
  message.failed_node = row.failed_node;
  message.size_reason = row.size_reason;
  message.journal_lines = row.journal_lines;
  return message;
}

api::EventMessage event_message(const db::Event& event) {
  json data = parsed(event.data);
  if (data.is_object()) {  // not for showing: one proves which job is ours, the other who pushes
    data.erase("token");
    data.erase("push_secret");
    if (const auto owner = data.find("owner"); owner != data.end() && owner->is_object())
      owner->erase("grant");
  }
  return {event.number, event.time, event.kind, event.id.to_string(), std::move(data)};
}

api::AboutTrial about_trial(const db::TrialRow& row) {
  api::AboutTrial message;
  message.id = row.id.to_string();
  message.configuration = row.configuration;
  message.seed = row.seed;
  message.state = name_of(row.state);
  message.reason = row.reason;
  message.parameters = parsed(row.parameters);
  message.resources = parsed(row.resources);
  message.ended = row.ended;
  return message;
}

api::Progress progress_of(const db::SweepRow& sweep, const db::TrialRow& row,
                          const TrialMetrics& metrics, std::optional<std::int64_t> step,
                          const SweepView& view) {
  api::Progress progress;
  progress.step = step;
  put_training(sweep, metrics, progress);
  const auto it = view.trials.find(row.id.trial);
  if (row.state == TrialPhase::pending)
    progress.waiting_for = it == view.trials.end() ? view.waiting_for : it->second.waiting_for;
  else if (it != view.trials.end() && !it->second.waiting_for.empty())
    progress.waiting_for = it->second.waiting_for;
  if (it == view.trials.end()) return progress;
  const TrialView& trial = it->second;
  if (!trial.last_end.empty()) progress.last_end = trial.last_end;
  if (trial.attempt != 0) {
    progress.attempt = trial.attempt;
    progress.attempt_state = name_of(trial.attempt_state);
  }
  if (trial.steps > 0) progress.steps = trial.steps;
  if (trial.epochs > 0) progress.epochs = trial.epochs;
  if (trial.steps > 0 && trial.steps_per_s > 0 && progress.step)
    progress.seconds_left = static_cast<double>(trial.steps - *progress.step) / trial.steps_per_s;
  return progress;
}

namespace {

/// As TrialChoice::best; `reporting` is how many there are to choose from.
std::vector<db::TrialRow> best_trials(db::ReadStore& store, const db::SweepRow& sweep,
                                      std::size_t count, std::optional<std::int64_t>& reporting) {
  std::vector<std::int64_t> found =
      store.best_trials(sweep.id, sweep.metric, sweep.goal == jobspec::Goal::maximize);
  if (found.empty())
    for (const auto& [trial, step] : store.last_steps(sweep.id))
      found.push_back(trial);
  reporting = static_cast<std::int64_t>(found.size());
  found.resize(std::min(found.size(), count));
  std::vector<db::TrialRow> rows;
  for (const std::int64_t trial : found)
    if (auto row = store.trial({sweep.id, trial, 0})) rows.push_back(std::move(*row));
  return rows;
}

api::TrialMessage trial_message(const db::SweepRow& sweep, const db::TrialRow& row,
                                const TrialMetrics& metrics, std::optional<std::int64_t> step,
                                const SweepView& view) {
  api::TrialMessage trial{about_trial(row), row.attempts};
  trial.progress = progress_of(sweep, row, metrics, step, view);
  return trial;
}

void put_best(db::ReadStore& store, const db::SweepRow& sweep, const SweepView& view,
              std::size_t count, api::SweepSnapshot& snapshot) {
  for (const db::TrialRow& row : best_trials(store, sweep, count, snapshot.reporting)) {
    const auto latest = store.latest(row.id);
    TrialMetrics metrics;
    std::optional<std::int64_t> step;
    for (const auto& point : latest) {
      metrics.push_back(&point);
      step = std::max(step.value_or(0), point.step);
    }
    snapshot.trials.push_back(trial_message(sweep, row, metrics, step, view));
  }
}

/// Of each trial only the metrics that its progress shows are read: there may be hundreds.
void put_trials(db::ReadStore& store, const db::SweepRow& sweep, const SweepView& view,
                api::SweepSnapshot& snapshot) {
  const std::set<std::string> names{jobspec::metric::train_loss, jobspec::metric::epoch,
                                    jobspec::metric::samples_per_s, sweep.metric};
  std::list<std::vector<db::ReadStore::Latest>> latest;
  std::map<std::int64_t, TrialMetrics> metrics;
  for (const std::string& name : names)
    for (const auto& point : latest.emplace_back(store.latest(sweep.id, name)))
      metrics[point.trial.trial].push_back(&point);
  const auto steps = store.last_steps(sweep.id);
  for (const auto& row : store.trials(sweep.id)) {
    const auto step = steps.find(row.id.trial);
    snapshot.trials.push_back(
        trial_message(sweep, row, metrics[row.id.trial],
                      step == steps.end() ? std::nullopt : std::optional(step->second), view));
  }
}

}  // namespace

std::optional<api::SweepSnapshot> sweep_snapshot(db::ReadStore& store, std::int64_t id,
                                                 const Counts& counts, const SweepView& view,
                                                 const TrialChoice& trials) {
  const auto sweep = store.sweep(id);
  if (!sweep) return {};
  api::SweepSnapshot snapshot;
  static_cast<api::SweepMessage&>(snapshot) = sweep_message(*sweep, counts);
  snapshot.keep = view.keep;
  snapshot.pruned = view.pruned;
  snapshot.freed_bytes = view.freed_bytes;
  snapshot.groups = view.groups;
  if (!view.looks.empty()) snapshot.looks = view.looks;
  db::analysis::Warnings warnings = db::analysis::warnings_of(store, id, sweep->metric);
  snapshot.warnings = std::move(warnings.sentences);
  if (trials.any && trials.best > 0)
    put_best(store, *sweep, view, trials.best, snapshot);
  else if (trials.any)
    put_trials(store, *sweep, view, snapshot);
  for (api::TrialMessage& trial : snapshot.trials)
    if (const auto it = warnings.of_trials.find(parse_id(trial.id).trial);
        it != warnings.of_trials.end())
      trial.warning = it->second;
  return snapshot;
}

}  // namespace thalweg::daemon
