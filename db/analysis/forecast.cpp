// The batch stays as it is, so the steps to the target do: what changes with the nodes is their
// time alone. A run with another batch is a question for the critical batch.
#include "db/analysis/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "db/analysis/bootstrap.h"
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

constexpr const char* kLost =
    "SELECT ifnull(sum(node_seconds), 0), ifnull(sum(state = 'lost'"
    " OR reason LIKE 'node failure%' OR reason LIKE 'preempted%'), 0) FROM attempts"
    " WHERE started > 0 AND ended > 0";

/// Of the trials that differ from this one in their nodes and seeds alone.
std::vector<Speed> speeds_of(ReadStore& store, const std::vector<TrialRecord>& records,
                             std::int64_t sweep, const TrialRecord& like) {
  std::map<std::int64_t, std::int64_t> nodes;  // of the last attempt of each trial
  for (const AttemptTimes& attempt : store.attempt_times(sweep))
    nodes[attempt.id.trial] = attempt.nodes;
  std::map<std::int64_t, std::vector<double>> values;
  for (const TrialRecord& record : records)
    if (record.global_batch == like.global_batch && record.others == like.others &&
        record.samples_per_s > 0 && nodes[record.id.trial] > 0)
      values[nodes[record.id.trial]].push_back(record.samples_per_s);
  std::vector<Speed> speeds;
  for (auto& [count, of_count] : values)
    speeds.push_back({static_cast<double>(count), median(std::move(of_count))});
  return speeds;
}

double newest(ReadStore& store, const Id& trial, const std::string& metric) {
  for (const ReadStore::Latest& latest : store.latest(trial))
    if (latest.metric == metric) return latest.value;
  return 0;
}

/// The best value by then; the curve is by steps.
double value_after(const std::vector<CurvePoint>& curve, double samples, double batch,
                   bool maximize) {
  double best = kNaN;
  for (const CurvePoint& point : curve) {
    if (static_cast<double>(point.step) * batch > samples) break;
    if (std::isnan(best) || (maximize ? point.value > best : point.value < best))
      best = point.value;
  }
  return best;
}

/// Per node and hour.
double lost_by_record(ReadStore& store) {
  constexpr double patience = 60;
  const auto row = store.query(kLost, 1, patience).rows.at(0);
  const double node_hours = row[0].as_double() / kHour;
  return node_hours > 0 ? row[1].as_double() / node_hours : 0;
}

jobspec::advise::Interrupted interrupted(const Forecast& forecast, double nodes, double work_s) {
  const double a_second = forecast.revocations * nodes / kHour;
  return {work_s, forecast.checkpoint_s, forecast.restart_s,
          a_second > 0 ? 1 / a_second : std::numeric_limits<double>::infinity()};
}

TrialRecord record_of(const std::vector<TrialRecord>& records, const Id& trial) {
  for (const TrialRecord& record : records)
    if (record.id.trial == trial.trial) return record;
  throw std::invalid_argument("there is no trial " + trial.to_string());
}

void add_notes(const ClusterSpeed& speed, const std::vector<Speed>& speeds, Forecast& forecast) {
  if (speeds.size() == 1)
    forecast.notes.push_back(
        fmt::format("measured on {:g} node{} only: sums of speeds are what more can reach at most",
                    speeds[0].ranks, speeds[0].ranks == 1 ? "" : "s"));
  if (std::isfinite(speed.bottleneck())) {
    forecast.bottleneck = speed.bottleneck();
    forecast.notes.push_back(fmt::format(
        "bottleneck: {:g} nodes gain less than half of what they cost; beyond the measured ones no "
        "more is expected than was measured",
        speed.bottleneck()));
  }
}

}  // namespace

Forecast forecast_trial(ReadStore& store, const Id& asked, const ForecastOptions& options) {
  const auto sweep = store.sweep(asked.sweep);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", asked.sweep));
  const bool maximize = sweep->goal == jobspec::Goal::maximize;
  const std::optional<Id> trial = asked.trial != 0
                                      ? std::optional(asked)
                                      : store.best_trial(asked.sweep, sweep->metric, maximize);
  if (!trial)
    throw std::invalid_argument(
        fmt::format("no trial of sweep {} has reported {}", asked.sweep, sweep->metric));
  // Batches are read where there is a target: one that nothing reaches will do.
  const double never =
      maximize ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  std::vector<std::string> others = varied_parameters(store, asked.sweep);
  std::erase_if(others,
                [](const std::string& name) { return name.starts_with("resources.nodes"); });
  const auto records = read_records(
      store, {asked.sweep, {}, others, sweep->metric, maximize, sweep->target.value_or(never)});
  TrialRecord record = record_of(records, *trial);
  Forecast forecast;
  forecast.trial = trial->to_string();
  forecast.metric = sweep->metric;
  if (std::isnan(record.global_batch) || record.batch_grows)
    throw std::invalid_argument("trial " + forecast.trial + " has no one global batch");
  forecast.batch = record.global_batch;
  const auto curve = store.curve(*trial, sweep->metric);
  const bool reached = sweep->target && std::isfinite(record.samples);
  forecast.samples = reached         ? record.samples
                     : curve.empty() ? 0
                                     : static_cast<double>(curve.back().step) * record.global_batch;
  forecast.until =
      reached ? fmt::format("{} {:g}", sweep->metric, *sweep->target) : std::string("its end");
  const auto speeds = speeds_of(store, records, asked.sweep, record);
  if (speeds.empty() || !(forecast.samples > 0))
    throw std::invalid_argument("nothing has been measured of trial " + forecast.trial + " yet");
  const ClusterSpeed speed(speeds);
  forecast.mape = speed.mape();
  forecast.revocations = options.revocations ? *options.revocations : lost_by_record(store);
  forecast.checkpoint_s = newest(store, *trial, jobspec::metric::checkpoint_ms) / 1000;
  forecast.restart_s = newest(store, *trial, jobspec::metric::startup_s);
  add_notes(speed, speeds, forecast);
  if (forecast.revocations > 0 && !(forecast.checkpoint_s > 0))
    forecast.notes.push_back("it wrote no checkpoints: after a revocation it begins again");
  for (const auto& [emulated, how] : emulated_trials(store, asked.sweep))
    if (emulated.trial == trial->trial)
      forecast.notes.push_back("it ran on emulated ranks or links (" + how +
                               "): its times are of no real machine");
  bool ended = false;
  for (const double nodes : options.nodes) {
    ForecastRow row;
    row.nodes = nodes;
    row.measured = speed.is_measured(nodes);
    row.samples_per_s = speed.at(nodes);
    row.efficiency =
        row.samples_per_s / (nodes * speeds.front().samples_per_s / speeds.front().ranks);
    row.seconds = forecast.samples / row.samples_per_s;
    row.expected_seconds = expected_seconds(interrupted(forecast, nodes, row.seconds));
    row.node_hours = nodes * row.expected_seconds / kHour;
    if (options.price) row.money = row.node_hours * *options.price;
    if (options.hours) {
      const double working = *options.hours * kHour * row.seconds / row.expected_seconds;
      const double by_then = working * row.samples_per_s;
      row.value = value_after(curve, by_then, record.global_batch, maximize);
      ended = ended || (!curve.empty() &&
                        by_then > static_cast<double>(curve.back().step) * record.global_batch);
    }
    forecast.rows.push_back(row);
  }
  if (ended)
    forecast.notes.push_back(fmt::format(
        "where {:g} h are longer than the trial, the value is its best", *options.hours));
  return forecast;
}

}  // namespace thalweg::db::analysis
