// From the documented views, the newest first: what a machine did last year says little.
#include "db/analysis/experience.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "db/analysis/bootstrap.h"
#include "db/analysis/cells.h"
#include "db/analysis/noise.h"
#include "jobspec/advise/formulas.h"
#include "jobspec/metric_names.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

using jobspec::Value;
using jobspec::advise::PastRun;

constexpr std::int64_t max_runs = 2000, max_waits = 10'000;

constexpr const char* runs_sql =
    "SELECT s.sweep, s.trial, json_extract(s.config, '$.model.name') AS model,"
    " json_extract(s.config, '$.data.name') AS data, s.parameters, s.device, a.nodes, s.ranks,"
    " json_extract(s.config, '$.batch.global'), s.transport, s.machines,"
    " json_extract(s.config, '$.precision'), json_extract(s.config, '$.augment'),"
    " json_extract(s.config, '$.sync.mode'), s.threads"
    " FROM starts AS s JOIN attempts AS a"
    " ON a.sweep = s.sweep AND a.trial = s.trial AND a.attempt = s.attempt"
    " WHERE model IN (SELECT value FROM json_each(?1))"
    " AND data IN (SELECT value FROM json_each(?2))"
    " AND ifnull(json_extract(s.config, '$.emulate'), json_object('preset', 'none'))"
    " = json_object('preset', 'none')"
    " ORDER BY s.sweep DESC, s.trial DESC, s.attempt DESC";
constexpr const char* metrics_sql =
    "SELECT trial, metric, value FROM latest_metrics WHERE sweep = ?1"
    " AND metric IN (SELECT value FROM json_each(?2))";
constexpr const char* waits_sql =
    "SELECT nodes, queued_seconds FROM attempts"
    " WHERE backend = 'slurm' AND queued_seconds IS NOT NULL ORDER BY launched DESC";
// What verdict.h makes of a node that is gone.
constexpr const char* failures_sql =
    "SELECT ifnull(sum(node_seconds), 0), ifnull(sum(state = 'lost'"
    " OR reason LIKE 'node failure%' OR reason LIKE 'preempted%'), 0) FROM attempts"
    " WHERE ?1 IS NULL OR sweep IN (SELECT value FROM json_each(?1))";

std::string text(const Value& value) {
  return value.is_string() ? value.as_string() : "";
}

std::string json_list(const std::vector<std::string>& texts) {
  return Value(jobspec::List(texts.begin(), texts.end())).to_json();
}

/// Which number of a run a metric is.
const std::map<std::string, double PastRun::*>& numbers() {
  static const std::map<std::string, double PastRun::*> table = {
      {jobspec::metric::samples_per_s, &PastRun::samples_per_s},
      {jobspec::metric::compute_ms, &PastRun::compute_ms},
      {jobspec::metric::comm_exposed_ms, &PastRun::exposed_ms},
      {jobspec::metric::data_ms, &PastRun::data_ms},
      {jobspec::metric::checkpoint_ms, &PastRun::checkpoint_s}};
  return table;
}

void min_memory(const Value& machines, double& gib) {
  if (!machines.is_list()) return;
  for (const Value& machine : machines.as_list()) {
    const Value* const memory = machine.find("memory_gib");
    if (!memory || number_of(*memory) <= 0) continue;
    gib = gib > 0 ? std::min(gib, number_of(*memory)) : number_of(*memory);
  }
}

/// Runs by sweep and trial: of a trial with several attempts the newest one.
using SweepRuns = std::map<std::int64_t, PastRun>;
using Runs = std::map<std::int64_t, SweepRuns, std::greater<>>;

/// What has to agree for two runs to be compared.
void read_kind(const std::vector<Value>& row, PastRun& run) {
  run.precision = text(row[11]);
  if (const std::string augment = text(row[12]); !augment.empty())
    run.augmentation = jobspec::read_yaml(augment, "augment").canonical();
  run.mode = text(row[13]);
  run.threads = static_cast<int>(number_of(row[14]));
}

Runs read_runs(ReadStore& store, const std::vector<std::string>& models,
               const std::vector<std::string>& data, double& gib) {
  Runs runs;
  for (const auto& row :
       store.query(runs_sql, max_runs, kQuerySeconds, {json_list(models), json_list(data)}).rows) {
    const std::int64_t sweep = row[0].as_int(), trial = row[1].as_int();
    if (runs[sweep].contains(trial)) continue;
    PastRun run;
    read_kind(row, run);
    run.trial = std::to_string(sweep) + "." + std::to_string(trial);
    run.model = text(row[2]);
    run.data = text(row[3]);
    run.parameters = number_of(row[4]);
    run.device = text(row[5]);
    run.nodes = std::max(1, static_cast<int>(number_of(row[6])));
    run.ranks = std::max(1, static_cast<int>(number_of(row[7])));
    run.batch = number_of(row[8]);
    if (const std::string list = text(row[9]); !list.empty()) {
      const Value names = jobspec::read_yaml(list, "transport");
      for (const Value& name : names.as_list())
        run.transport.push_back(name.to_text());
    }
    if (const std::string list = text(row[10]); !list.empty())
      min_memory(jobspec::read_yaml(list, "machines"), gib);
    runs[sweep].emplace(trial, std::move(run));
  }
  return runs;
}

constexpr auto every_row = std::int64_t{1} << 40;

void read_noise(ReadStore& store, std::int64_t sweep, SweepRuns& runs) {
  for (const auto& [trial, scale] : noise_scales(store, sweep)) {
    const auto found = runs.find(trial);
    if (found == runs.end()) continue;
    found->second.noise_scale = scale;
    found->second.noise_unsettled = !(scale > 0);
  }
}

void read_metrics(ReadStore& store, std::int64_t sweep, SweepRuns& runs) {
  std::vector<std::string> names;
  for (const auto& [name, member] : numbers())
    names.push_back(name);
  for (const auto& row :
       store.query(metrics_sql, every_row, kQuerySeconds, {Value(sweep), json_list(names)}).rows) {
    const auto run = runs.find(row[0].as_int());
    if (run == runs.end()) continue;
    run->second.*numbers().at(row[1].as_string()) = number_of(row[2]);
  }
  constexpr double ms = 1000;
  for (auto& [trial, run] : runs)
    run.checkpoint_s /= ms;
}

}  // namespace

Experience read_experience(ReadStore& store, const std::vector<std::string>& models,
                           const std::vector<std::string>& data) {
  Experience experience;
  Runs runs = read_runs(store, models, data, experience.node_memory_gib);
  for (auto& [sweep, of_sweep] : runs) {
    read_metrics(store, sweep, of_sweep);
    read_noise(store, sweep, of_sweep);
    for (auto& [trial, run] : of_sweep)
      experience.runs.push_back(std::move(run));
  }
  std::map<int, std::vector<double>> waits;
  for (const auto& row : store.query(waits_sql, max_waits, kQuerySeconds, {}).rows)
    waits[static_cast<int>(number_of(row[0]))].push_back(number_of(row[1]));
  for (const auto& [nodes, seconds] : waits)
    experience.waits.push_back({nodes, static_cast<std::int64_t>(seconds.size()), median(seconds)});
  const LostNodes lost = lost_nodes(store);
  experience.node_seconds = lost.node_seconds;
  experience.lost_nodes = lost.attempts;
  return experience;
}

LostNodes lost_nodes(ReadStore& store, const std::optional<std::vector<std::int64_t>>& sweeps) {
  const Value list =
      sweeps ? Value(Value(jobspec::List(sweeps->begin(), sweeps->end())).to_json()) : Value();
  const auto row = store.query(failures_sql, 1, kQuerySeconds, {list}).rows.at(0);
  return {number_of(row.at(0)), static_cast<std::int64_t>(number_of(row.at(1)))};
}

}  // namespace thalweg::db::analysis
