// Time against cost: which configurations nobody beats in both.
#include "db/analysis/pareto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "db/studies/study.h"

namespace thalweg::db {
namespace {

using analysis::ParetoRow;
using analysis::ParetoStudy;

constexpr StudyOption pareto_options[] = {
    {"target", StudyOption::Kind::number, "VALUE",
     "times to this value only (default: one frontier for each of the targets)"},
    {"money", StudyOption::Kind::flag, "",
     "weigh time against money (prices in config.yaml) instead of node time"},
    {"all", StudyOption::Kind::flag, "", "print also what something else beats in both"},
};

constexpr const char* seconds_note =
    "Counted to the first value as good as the target; a trial that missed it counts as infinite. "
    "Medians over seeds of seconds. On the frontier is what no other configuration beats both in "
    "time and in node time.";

/// Each target's frontier, and what it beats.
DataChart pareto_chart(const ParetoStudy& study) {
  constexpr std::size_t max_targets = 4, max_dots = 500;  // more cannot be told apart
  DataChart chart{"Time against cost", "node time (s)", "time to the target (s)", true, true};
  std::size_t dots = 0;
  for (const double target : study.targets) {
    if (chart.series.size() >= 2 * max_targets) break;
    const std::string name = fmt::format("{} {}", study.metric, target);
    DataSeries frontier{name + ": frontier"}, others{name + ": beaten", true};
    for (const ParetoRow& row : study.rows) {
      if (row.target != target || (!row.frontier && ++dots > max_dots)) continue;
      DataSeries& series = row.frontier ? frontier : others;
      series.x.push_back(row.node_seconds);
      series.y.push_back(row.seconds);
    }
    // By rising time they have falling cost.
    std::reverse(frontier.x.begin(), frontier.x.end());
    std::reverse(frontier.y.begin(), frontier.y.end());
    chart.series.push_back(std::move(frontier));
    if (!others.x.empty()) chart.series.push_back(std::move(others));
  }
  chart.caption =
      dots > max_dots
          ? fmt::format("The frontiers, and {} of {} beaten configurations.", max_dots, dots)
          : "A dot is a configuration; lines join those that nothing beats.";
  chart.note = seconds_note;
  return chart;
}

DataTable pareto_table(const ParetoStudy& study, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  const bool several = study.sweeps.size() > 1, money = study.cost == "money";
  const bool all = request.for_scripts || request.flag("all");
  const bool priced = request.for_scripts && !money &&
                      std::any_of(study.rows.begin(), study.rows.end(),
                                  [](const ParetoRow& row) { return std::isfinite(row.money); });
  const DataColumn money_column{"money", "money", Shows::number,
                                "Node time at the prices of config.yaml."};
  DataTable table;
  auto& columns = table.columns;
  if (several) columns.push_back({"sweep", "sweep", Shows::integer, "The sweep's number."});
  columns.push_back({"target", study.metric, Shows::number,
                     "The values of the metric that the sweep file's metric.target names."});
  for (const std::string& name : study.by)
    columns.push_back(parameter_column(name));
  columns.push_back({"seconds", "time", Shows::duration, seconds_note});
  columns.push_back({"node_seconds", "node time", Shows::duration,
                     "Counted to the first value as good as the target; a trial that missed it "
                     "counts as infinite. Medians over seeds of nodes times seconds."});
  if (money) columns.push_back(money_column);
  columns.push_back(
      {"reached", "reached", Shows::integer, "Seeds that reached the target, counted.", 1});
  columns.push_back({"n", "n", Shows::integer, "Seeds of the configuration, counted.", 1});
  if (all) columns.push_back({"frontier", "frontier", Shows::flag});
  if (priced) columns.push_back(money_column);
  for (const ParetoRow& row : study.rows) {
    if (!all && !row.frontier) continue;
    std::vector<Datum> cells;
    if (several) cells.emplace_back(static_cast<double>(row.sweep));
    cells.emplace_back(row.target);
    for (const std::string& name : study.by)
      cells.push_back(text_of(row.group, name));
    cells.insert(cells.end(), {row.seconds, row.node_seconds});
    if (money) cells.emplace_back(row.money);
    cells.emplace_back(static_cast<double>(row.reached));
    cells.emplace_back(static_cast<double>(row.n));
    if (all) cells.emplace_back(row.frontier);
    if (priced) cells.emplace_back(row.money);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

DataTable run_pareto(ReadStore& store, const StudyRequest& request) {
  const ParetoStudy study = analysis::study_pareto(
      store, request.sweeps, {request.number("target"), request.prices, request.flag("money")});
  DataTable table = pareto_table(study, request);
  table.notes = study.notes;
  table.facts = {{{"metric", ""}, study.metric}, {{"cost", ""}, study.cost}};
  table.charts = {pareto_chart(study)};
  table.telling = study.rows.size() > 1;
  return table;
}

}  // namespace

extern const Study pareto_study;
const Study pareto_study{
    "pareto",
    "time against cost: configurations not beaten in both",
    "The configurations that no other one beats both in time and in node time to a target, by "
    "medians over the seeds. There is one frontier for each target. --money takes what the node "
    "time costs (prices in config.yaml) instead.",
    "thalweg pareto 12\nthalweg pareto 12 13 --all --csv",
    "frontier tradeoff cost",
    pareto_options,
    "Time against cost",
    run_pareto,
    Study::Of::sweeps,
    true};

}  // namespace thalweg::db
