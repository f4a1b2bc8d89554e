// The batch stays as it is, so the steps to the target do: what changes with the nodes is their
// time alone. A run with another batch is a question for the critical batch.
#include "db/analysis/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "base/text.h"
#include "db/analysis/bootstrap.h"
#include "db/analysis/cells.h"
#include "db/analysis/experience.h"
#include "db/analysis/parameters.h"
#include "db/analysis/records.h"
#include "jobspec/advise/forecast.h"
#include "jobspec/metric_names.h"

namespace thalweg::db::analysis {
namespace {

using jobspec::advise::ClusterSpeed;
using jobspec::advise::Speed;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kHour = 3600;

/// Of the trials that differ from this one in their nodes and seeds alone.
std::vector<Speed> speeds_of(ReadStore& store, const std::vector<TrialRecord>& records,
                             std::int64_t sweep, const TrialRecord& like) {
  std::map<std::int64_t, std::int64_t> nodes;  // of the last attempt of each trial
  for (const AttemptTimes& attempt : store.attempt_times(sweep))
    nodes[attempt.id.trial] = attempt.nodes;
  std::vector<Speed> speeds;
  for (const TrialRecord& record : records)
    if (record.global_batch == like.global_batch && record.others == like.others &&
        record.samples_per_s > 0 && nodes[record.id.trial] > 0)
      speeds.push_back({static_cast<double>(nodes[record.id.trial]), record.samples_per_s});
  return speeds;
}

/// Seconds of a checkpoint and of a start, as the trial measured them last; 0 where it did not.
void read_costs(ReadStore& store, const Id& trial, Forecast& forecast) {
  for (const ReadStore::Latest& latest : store.latest(trial)) {
    if (latest.metric == jobspec::metric::checkpoint_ms)
      forecast.checkpoint_s = latest.value / 1000;
    if (latest.metric == jobspec::metric::startup_s) forecast.restart_s = latest.value;
  }
}

/// Of the trial's newest attempt, by medians over its reports.
void read_step(ReadStore& store, const TrialRecord& record, Forecast& forecast) {
  double ranks = 0;
  for (const auto& row :
       store
           .query("SELECT nodes, ranks FROM attempts WHERE sweep = ? AND trial = ?"
                  " ORDER BY attempt DESC LIMIT 1",
                  1, kQuerySeconds, {record.id.sweep, record.id.trial})
           .rows) {
    forecast.measured_nodes = row[0].as_double();
    ranks = row[1].as_double();
  }
  const auto median_of = [&](const char* metric) {
    const double found = median_of_curve(store, record.id, metric);
    return std::isnan(found) ? 0 : found;
  };
  constexpr double us_of_ms = 1000;
  forecast.measured_samples_per_s = record.samples_per_s > 0 ? record.samples_per_s : 0;
  forecast.sample_us =
      us_of_ms * median_of(jobspec::metric::compute_ms) * ranks / record.global_batch;
  forecast.update_ms = median_of(jobspec::metric::optimizer_ms);
}

// Sums over nodes that were summed as they were, the newest first.
constexpr const char* kSumsSql =
    "SELECT s.sweep, s.trial, s.parameters, a.nodes FROM starts AS s JOIN attempts AS a"
    " ON a.sweep = s.sweep AND a.trial = s.trial AND a.attempt = s.attempt"
    " WHERE a.nodes > 1 AND s.parameters > 0 AND json_extract(s.config, '$.sync.mode') = 'sync'"
    " AND ifnull(json_extract(s.config, '$.emulate'), json_object('preset', 'none'))"
    " = json_object('preset', 'none')"
    " ORDER BY s.sweep DESC, s.trial DESC, s.attempt DESC";

struct SummedRun {
  Id trial;
  double parameters = 0, nodes = 0;
};

/// Of a ring, which moves 2 (n - 1) / n of the bytes over each link. What its messages wait for is
/// in it: a link is told for sums of about this size.
double link_of(const SummedRun& run, double sum_ms) {
  constexpr double bits = 8 * sizeof(float), giga = 1e9, ms = 1000;
  return 2 * (run.nodes - 1) / run.nodes * run.parameters * bits / (sum_ms / ms) / giga;
}

void read_link(ReadStore& store, const Id& trial, Forecast& forecast) {
  constexpr std::int64_t max_runs = 200;
  double own = 0;
  for (const auto& row : store
                             .query("SELECT parameters FROM starts WHERE sweep = ? AND trial = ?"
                                    " ORDER BY attempt DESC LIMIT 1",
                                    1, kQuerySeconds, {trial.sweep, trial.trial})
                             .rows)
    own = number_of(row[0]);
  if (!(own > 0)) return;
  std::vector<SummedRun> runs;
  for (const auto& row : store.query(kSumsSql, max_runs, kQuerySeconds, {}).rows)
    runs.push_back({{row[0].as_int(), row[1].as_int(), 0}, number_of(row[2]), number_of(row[3])});
  const auto distance = [&](const SummedRun& run) {
    return std::abs(std::log2(run.parameters / own));
  };
  std::stable_sort(runs.begin(), runs.end(), [&](const SummedRun& a, const SummedRun& b) {
    return distance(a) < distance(b);
  });
  std::vector<double> links;
  for (const SummedRun& run : runs) {
    if (!links.empty() && distance(run) > distance(runs.front()) + 1) break;
    const double sum_ms = median_of_curve(store, run.trial, jobspec::metric::comm_ms);
    if (!(sum_ms > 0)) continue;
    if (links.empty()) forecast.link_of = run.trial.to_string();
    links.push_back(link_of(run, sum_ms));
  }
  if (!links.empty()) forecast.link_gbit = median(links);
}

/// The best value by then; the curve is by steps.
double value_after(const std::vector<CurvePoint>& curve, double samples, double batch,
                   bool maximize) {
  double best = kNaN;
  for (const CurvePoint& point : curve) {
    if (static_cast<double>(point.step) * batch > samples) break;
    if (!std::isfinite(point.value)) continue;
    if (std::isnan(best) || (maximize ? point.value > best : point.value < best))
      best = point.value;
  }
  return best;
}

/// Per node and hour; of the whole record where nothing has run in the sweeps that were named.
double lost_by_record(ReadStore& store, const ForecastOptions& options, Forecast& forecast) {
  LostNodes lost = lost_nodes(store, options.like);
  if (options.like && !(lost.node_seconds > 0)) {
    lost = lost_nodes(store);
    forecast.notes.push_back(
        "nothing has run in this partition yet: revocations are those of the whole record");
  }
  return lost.node_seconds > 0 ? static_cast<double>(lost.attempts) * kHour / lost.node_seconds : 0;
}

jobspec::advise::Interrupted interrupted(const Forecast& forecast, double nodes, double work_s) {
  const double a_second = forecast.revocations * nodes / kHour;
  return {work_s, forecast.checkpoint_s, forecast.restart_s,
          a_second > 0 ? 1 / a_second : std::numeric_limits<double>::infinity()};
}

/// The trial and those of its sweep that it can be compared with.
struct ReadTrial {
  SweepRow sweep;
  bool maximize = false;
  Id trial;
  TrialRecord record;
  std::vector<TrialRecord> records;
  std::vector<CurvePoint> curve;
};

ReadTrial read_trial(ReadStore& store, const Id& asked) {
  const auto sweep = store.sweep(asked.sweep);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", asked.sweep));
  ReadTrial read;
  read.sweep = *sweep;
  read.maximize = sweep->goal == jobspec::Goal::maximize;
  const std::optional<Id> trial = asked.trial != 0
                                      ? std::optional(asked)
                                      : store.best_trial(asked.sweep, sweep->metric, read.maximize);
  if (!trial)
    throw std::invalid_argument(
        fmt::format("no trial of sweep {} has reported {}", asked.sweep, sweep->metric));
  read.trial = *trial;
  // Batches are read where there is a target: one that nothing reaches will do.
  const double never = read.maximize ? std::numeric_limits<double>::infinity()
                                     : -std::numeric_limits<double>::infinity();
  std::vector<std::string> others = varied_parameters(store, asked.sweep);
  std::erase_if(others,
                [](const std::string& name) { return name.starts_with("resources.nodes"); });
  read.records = read_records(
      store,
      {asked.sweep, {}, others, sweep->metric, read.maximize, sweep->target.value_or(never)});
  const auto found =
      std::find_if(read.records.begin(), read.records.end(),
                   [&](const TrialRecord& record) { return record.id.trial == trial->trial; });
  if (found == read.records.end())
    throw std::invalid_argument("there is no trial " + trial->to_string());
  read.record = *found;
  if (std::isnan(found->global_batch) || found->batch_grows)
    throw std::invalid_argument("trial " + trial->to_string() + " has no one global batch");
  read.curve = store.curve(*trial, sweep->metric);
  return read;
}

/// Samples that it has trained on by its last value of the metric; 0 without any.
double samples_at_end(const ReadTrial& read) {
  return read.curve.empty()
             ? 0
             : static_cast<double>(read.curve.back().step) * read.record.global_batch;
}

Forecast forecast_of(ReadStore& store, const ReadTrial& read, const ForecastOptions& options) {
  Forecast forecast;
  forecast.trial = read.trial.to_string();
  forecast.metric = read.sweep.metric;
  forecast.batch = read.record.global_batch;
  forecast.currency = options.currency;
  const bool reached = read.sweep.target && std::isfinite(read.record.samples);
  forecast.samples = reached ? read.record.samples : samples_at_end(read);
  forecast.until = reached ? fmt::format("{} {:g}", read.sweep.metric, *read.sweep.target)
                           : std::string("its end");
  forecast.revocations =
      options.revocations ? *options.revocations : lost_by_record(store, options, forecast);
  read_costs(store, read.trial, forecast);
  read_step(store, read.record, forecast);
  read_link(store, read.trial, forecast);
  return forecast;
}

void add_notes(ReadStore& store, const ReadTrial& read, const ClusterSpeed& speed,
               const ForecastOptions& options, Forecast& forecast) {
  const std::vector<Speed>& measured = speed.measured();
  if (!options.simulated.empty()) {
    // What stands there instead of sums and laws is said by who simulated it.
  } else if (measured.size() == 1)
    forecast.notes.push_back(
        fmt::format("measured on {} only: sums of speeds are what more can reach at most",
                    count_of(static_cast<std::int64_t>(measured[0].ranks), "node")));
  else if (speed.has_law())
    forecast.notes.push_back(fmt::format(
        "beyond {} speeds are those of a fitted law (Gunther's universal scalability law)",
        count_of(static_cast<std::int64_t>(measured.back().ranks), "node")));
  if (const double bottleneck = speed.bottleneck(); std::isfinite(bottleneck)) {
    forecast.bottleneck = bottleneck;
    forecast.notes.push_back(fmt::format(
        "bottleneck: beyond {:g} nodes, another one gains less than half of what it costs",
        bottleneck));
  }
  if (forecast.revocations > 0 && !(forecast.checkpoint_s > 0))
    forecast.notes.push_back("it wrote no checkpoints: after a revocation it begins again");
  for (const auto& [trial, what] : emulated_trials(store, read.trial.sweep))
    if (trial.trial == read.trial.trial) forecast.notes.push_back(emulated_note(trial, what));
}

ForecastRow row_of(const Forecast& forecast, const ClusterSpeed& speed, double nodes,
                   const ForecastOptions& options) {
  ForecastRow row;
  row.nodes = nodes;
  row.measured = speed.is_measured(nodes);
  const auto simulated = options.simulated.find(nodes);
  row.simulated = !row.measured && simulated != options.simulated.end();
  row.samples_per_s = row.simulated ? simulated->second : speed.at(nodes);
  row.efficiency = row.samples_per_s / (nodes * speed.at(1));
  row.seconds = forecast.samples / row.samples_per_s;
  row.expected_seconds = expected_seconds(interrupted(forecast, nodes, row.seconds));
  row.node_hours = nodes * row.expected_seconds / kHour;
  if (options.price) row.money = row.node_hours * *options.price;
  return row;
}

/// How long it may take on so many nodes.
std::optional<double> hours_of(const ForecastOptions& options, double nodes) {
  if (options.money && !(options.price.value_or(0) > 0))
    throw std::invalid_argument("what money buys is not known: config.yaml has no price for it");
  return options.money ? *options.money / (*options.price * nodes) : options.hours;
}

}  // namespace

Forecast forecast_trial(ReadStore& store, const Id& asked, const ForecastOptions& options) {
  const ReadTrial read = read_trial(store, asked);
  Forecast forecast = forecast_of(store, read, options);
  const auto speeds = speeds_of(store, read.records, asked.sweep, read.record);
  if (speeds.empty() || !(forecast.samples > 0))
    throw std::invalid_argument("nothing has been measured of trial " + forecast.trial + " yet");
  const ClusterSpeed speed(speeds);
  forecast.mape = speed.mape();
  add_notes(store, read, speed, options, forecast);
  bool ended = false;
  for (const double nodes : options.nodes) {
    ForecastRow row = row_of(forecast, speed, nodes, options);
    if (const auto hours = hours_of(options, nodes)) {
      const double working = *hours * kHour * row.seconds / row.expected_seconds;
      const double samples = working * row.samples_per_s;
      row.value = value_after(read.curve, samples, forecast.batch, read.maximize);
      ended = ended || samples > samples_at_end(read);
    }
    forecast.rows.push_back(row);
  }
  if (ended)
    forecast.notes.push_back("where that is more than the trial takes, the value is its best");
  return forecast;
}

}  // namespace thalweg::db::analysis
