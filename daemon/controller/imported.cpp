// Imported runs: all their rows and the event that makes a sweep of them are one transaction, so
// that half an import never shows. They get one attempt each, since points are an attempt's; it has
// no folder, so nothing looks for logs or checkpoints.
#include "daemon/controller/imported.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "daemon/api/messages.h"
#include "daemon/controller/controller.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"
#include "daemon/state/resources.h"
#include "jobspec/value.h"

namespace thalweg::daemon {

std::pair<double, double> ImportedRun::times() const {
  double first = 0, last = 0;
  for (const auto& [metric, points] : curves)
    for (const ImportedPoint& point : points) {
      if (point.time <= 0) continue;
      first = first > 0 ? std::min(first, point.time) : point.time;
      last = std::max(last, point.time);
    }
  return {first, last};
}

void ImportedRun::forget_partial_times() {
  const auto points_with = [&](auto fits) {
    std::size_t count = 0;
    for (const auto& [metric, points] : curves)
      count += static_cast<std::size_t>(std::count_if(points.begin(), points.end(), fits));
    return count;
  };
  if (points_with([](const ImportedPoint& point) { return !(point.time > 0); }) == 0) return;
  for (auto& [metric, points] : curves)
    for (ImportedPoint& point : points)
      point.time = 0;
}

std::string imported_text(const Import& import) {
  jobspec::Map metric{
      {"name", import.metric.name},
      {"goal", import.metric.goal == jobspec::Goal::maximize ? "maximize" : "minimize"}};
  if (import.metric.targets.size() == 1) metric.emplace_back("target", import.metric.targets[0]);
  // `command` since a sweep file says what runs; `false` since nothing does.
  return jobspec::to_yaml(jobspec::Map{{"name", import.name},
                                       {"description", "imported from " + import.source},
                                       {"metric", std::move(metric)},
                                       {"command", jobspec::List{"false"}}});
}

std::vector<std::int64_t> number_configurations(std::vector<ImportedRun>& runs) {
  std::map<std::string, std::pair<std::int64_t, std::set<std::uint64_t>>> known;
  std::vector<std::int64_t> numbers;
  for (const ImportedRun& run : runs) {
    auto& [number, seeds] = known[run.parameters];
    if (number == 0) number = static_cast<std::int64_t>(known.size());
    numbers.push_back(number);
    if (run.seed) seeds.insert(*run.seed);
  }
  for (ImportedRun& run : runs) {
    if (run.seed) continue;
    auto& seeds = known[run.parameters].second;
    std::uint64_t seed = 1;
    while (seeds.count(seed) != 0)
      ++seed;
    run.seed = seed;
    seeds.insert(seed);
  }
  return numbers;
}

namespace {

db::SweepRow sweep_row(const Import& import, double now) {
  db::SweepRow row;
  row.name = import.name;
  row.owner = import.owner;
  row.backend = kImported;
  row.file_name = import.source;
  row.text = imported_text(import);
  row.metric = import.metric.name;
  row.goal = import.metric.goal;
  row.target = import.metric.target();
  row.targets = import.metric.targets;
  row.state = SweepPhase::finished;
  row.submitted = row.ended = now;
  row.notes = "[]";
  return row;
}

db::TrialRow trial_row(const Id& id, const ImportedRun& run, std::int64_t configuration,
                       double now) {
  db::TrialRow row;
  row.id = id;
  row.configuration = configuration;
  row.seed = *run.seed;
  row.state = TrialPhase::finished;
  row.train = "{}";
  row.parameters = run.parameters;
  row.resources = api::json_text(resources_json({}));
  row.attempts = 1;
  const double last = run.times().second;
  row.ended = last > 0 ? last : now;
  return row;
}

db::AttemptRow attempt_row(const Id& trial, const ImportedRun& run) {
  db::AttemptRow row;
  row.id = {trial.sweep, trial.trial, 1};
  row.token = new_token();
  row.state = db::AttemptState::finished;
  row.backend = kImported;
  row.handle = run.source;
  std::tie(row.started, row.ended) = run.times();
  row.launched = row.started;
  row.nodes = row.ranks = 1;
  return row;
}

std::vector<db::Point> points_of(const ImportedRun& run) {
  std::vector<db::Point> points;
  for (const auto& [metric, curve] : run.curves)
    for (const ImportedPoint& point : curve)
      points.push_back({metric, point.step, point.value, point.time});
  return points;
}

}  // namespace

Submitted Controller::import_runs(Import import) {
  for (ImportedRun& run : import.runs)
    run.forget_partial_times();
  const auto configurations = number_configurations(import.runs);
  const double now = options_.now();
  const auto trials = static_cast<std::int64_t>(import.runs.size());
  db::Event imported =
      new_event(now, {}, event::Imported{import.metric, trials, import.source, import.runs_as});
  try {
    store_.transaction([&] {
      const std::int64_t sweep = imported.id.sweep = store_.insert_sweep(sweep_row(import, now));
      std::vector<db::TrialRow> rows;
      for (std::size_t i = 0; i < import.runs.size(); ++i)
        rows.push_back(trial_row({sweep, static_cast<std::int64_t>(i + 1), 0}, import.runs[i],
                                 configurations[i], now));
      store_.insert_trials(rows);
      for (std::size_t i = 0; i < import.runs.size(); ++i) {
        const db::AttemptRow row = attempt_row(rows[i].id, import.runs[i]);
        store_.insert_attempt(row);
        store_.add_points(row.id, 1, 1, points_of(import.runs[i]));
      }
      imported.number = store_.append_event(imported);
      fault::pass("in_import");
    });
  } catch (const db::CannotWrite& error) {
    cannot_write(error);
    throw;
  }
  apply(state_, imported);
  touch(imported.id.sweep);
  log::info(fmt::format("{} imported: {}, {} trials from {}", imported.id.to_string(), import.name,
                        trials, import.source),
            {imported.id, imported.kind});
  fault::pass("after_import");
  checkpoint();
  return {imported.id.sweep, trials,
          *std::max_element(configurations.begin(), configurations.end()), 0};
}

}  // namespace thalweg::daemon
