// A row of `compare` is a point: its medians of seconds and node-seconds to each target.
#include "db/analysis/pareto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "db/analysis/compare.h"
#include "db/analysis/names.h"

namespace thalweg::db::analysis {

std::vector<bool> pareto_frontier(const std::vector<std::pair<double, double>>& points) {
  std::vector<bool> frontier;
  for (const auto& [x, y] : points) {
    const bool beaten = std::any_of(points.begin(), points.end(), [&](const auto& other) {
      return other.first <= x && other.second <= y && (other.first < x || other.second < y);
    });
    frontier.push_back(std::isfinite(x) && std::isfinite(y) && !beaten);
  }
  return frontier;
}

namespace {

void add_row(const ComparisonRow& from, std::int64_t sweep, double target, const ToTarget& seconds,
             const ToTarget& node_seconds, const ToTarget& money, ParetoStudy& study) {
  if (!std::isfinite(seconds.median) || !std::isfinite(node_seconds.median)) return;
  ParetoRow row;
  row.sweep = sweep;
  row.target = target;
  for (const auto& [name, value] : from.group)
    row.group[name] = value.to_text();
  row.seconds = seconds.median;
  row.node_seconds = node_seconds.median;
  row.money = money.median;
  row.n = static_cast<std::int64_t>(from.trials.size());
  row.reached = seconds.reached;
  study.rows.push_back(std::move(row));
}

void add_sweep(ReadStore& store, std::int64_t sweep, const ParetoOptions& wanted,
               ParetoStudy& study) {
  const auto& target = wanted.target;
  if (wanted.money && !wanted.prices.contains(sweep))
    throw std::invalid_argument(
        fmt::format("what a node-hour of sweep {} costs is not known: set prices.node_hour or "
                    "prices.partitions in config.yaml",
                    sweep));
  CompareOptions options;
  options.target = target;
  options.prices = wanted.prices;
  const Comparison comparison = compare(store, sweep, options);
  if (!comparison.target)
    throw std::invalid_argument(
        fmt::format("sweep {} has no target: time to which value of {}? (--target 0.1)", sweep,
                    comparison.metric));
  if (!study.metric.empty() && study.metric != comparison.metric)
    throw std::invalid_argument(fmt::format("sweep {} is ranked by {}, sweep {} by {}",
                                            study.sweeps.front(), study.metric, sweep,
                                            comparison.metric));
  study.sweeps.push_back(sweep);
  study.metric = comparison.metric;
  for (const std::string& name : comparison.by)
    if (std::find(study.by.begin(), study.by.end(), name) == study.by.end())
      study.by.push_back(name);
  for (const ComparisonRow& row : comparison.rows) {
    add_row(row, sweep, *comparison.target, row.seconds_to_target, row.node_seconds_to_target,
            row.money_to_target, study);
    if (target) continue;
    for (const OtherTarget& other : row.other_targets)
      add_row(row, sweep, other.target, other.seconds, other.node_seconds, other.money, study);
  }
  std::vector<double> targets{*comparison.target};
  if (!target)
    targets.insert(targets.end(), comparison.other_targets.begin(), comparison.other_targets.end());
  for (const double each : targets)
    if (std::find(study.targets.begin(), study.targets.end(), each) == study.targets.end())
      study.targets.push_back(each);
}

}  // namespace

ParetoStudy study_pareto(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                         const ParetoOptions& options) {
  ParetoStudy study;
  study.cost = options.money ? "money" : "node_seconds";
  for (const std::int64_t sweep : sweeps)
    add_sweep(store, sweep, options, study);
  std::stable_sort(
      study.rows.begin(), study.rows.end(), [&](const ParetoRow& a, const ParetoRow& b) {
        const auto place = [&](double t) {
          return std::find(study.targets.begin(), study.targets.end(), t);
        };
        return a.target != b.target ? place(a.target) < place(b.target) : a.seconds < b.seconds;
      });
  for (const double each : study.targets) {
    std::vector<ParetoRow*> rows;
    std::vector<std::pair<double, double>> points;
    for (ParetoRow& row : study.rows) {
      if (row.target != each) continue;
      rows.push_back(&row);
      points.emplace_back(row.seconds, options.money ? row.money : row.node_seconds);
    }
    const std::vector<bool> frontier = pareto_frontier(points);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i]->frontier = frontier[i];
    if (rows.empty())
      study.notes.push_back(fmt::format("nothing has reached {} {} in more than half of its trials",
                                        study.metric, each));
  }
  for (std::string& line : which_is_better(store, sweeps))
    study.notes.push_back(std::move(line));
  return study;
}

}  // namespace thalweg::db::analysis
