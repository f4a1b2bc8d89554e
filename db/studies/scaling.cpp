// What more ranks gain: speed-up, efficiency, and from where on they are not worth it.
#include "db/analysis/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "db/studies/study.h"

namespace thalweg::db {
namespace {

using analysis::Estimate;
using analysis::ScalingRow;
using analysis::ScalingStudy;

constexpr const char* speed_note =
    "The median over trials of the samples per second that they reported.";

/// "adamw, 0.1": the values of what rows of a series share.
std::string series_label(const ScalingRow& row) {
  std::string label;
  for (const auto& [name, value] : row.series)
    label += (label.empty() ? "" : ", ") + value;
  return label;
}

DataChart scaling_chart(const ScalingStudy& study) {
  constexpr std::size_t max_lines = 8;  // more cannot be told apart
  DataChart chart{"Samples per second by ranks", "ranks", "samples/s", true, true};
  std::map<std::string, DataSeries> lines;
  for (const ScalingRow& row : study.rows) {  // by rising ranks in each series
    const std::string label = series_label(row);
    if (lines.size() >= max_lines && !lines.contains(label)) continue;
    DataSeries& line = lines[label];
    line.label = label.empty() ? "measured" : label;
    line.scattered = true;
    line.x.push_back(static_cast<double>(row.ranks));
    line.y.push_back(row.samples_per_s.median);
  }
  for (auto& [label, line] : lines)
    chart.series.push_back(std::move(line));
  chart.caption = "A dot is a batch and a number of ranks.";
  chart.note = speed_note;
  return chart;
}

std::vector<DataColumn> scaling_columns(const ScalingStudy& study, bool for_scripts) {
  using Shows = DataColumn::Shows;
  const std::string to_target =
      "Counted to the first value as good as the target; a trial that missed it counts as "
      "infinite. The median over trials of ";
  std::vector<DataColumn> columns;
  for (const std::string& name : study.by)
    columns.push_back(parameter_column(name));
  columns.push_back({"kind", "scaling"});
  columns.push_back({"nodes", "nodes", Shows::integer,
                     "As the trial was configured or, where it may choose, as it ran.", 2});
  columns.push_back(
      {"ranks", "ranks", Shows::integer, "Processes of the trial: nodes times ranks of each."});
  columns.push_back({"batch", "batch", Shows::number,
                     "Samples of an optimizer step over all ranks, as the trial was configured."});
  columns.push_back({"trials", "n", Shows::integer, "Trials of the row, counted.", 4});
  columns.push_back({"samples_per_s", "samples/s", Shows::rate, speed_note});
  columns.push_back({"speedup", "speed-up", Shows::times,
                     "Samples per second over those of the row with the fewest ranks that differs "
                     "by nothing else. Strong: the same global batch; weak: the same batch a "
                     "rank."});
  columns.push_back(
      {"efficiency", "efficiency", Shows::times, "The speed-up over how many times the ranks."});
  columns.push_back({"tflops", "TFLOP/s", Shows::finite,
                     "The median over trials of the operations of forward and backward passes, by "
                     "the layers' formulas, over the measured time, in 10^12 a second.",
                     1});
  columns.push_back(
      {"seconds_to_target", "time to target", Shows::duration, to_target + "seconds.", 3});
  columns.push_back({"node_seconds_to_target", "node time", Shows::duration,
                     to_target + "nodes times seconds.", 3});
  if (!for_scripts) return columns;
  for (const char* name : {"samples_per_s", "seconds_to_target", "node_seconds_to_target"})
    for (const char* end : {"low", "high"})
      columns.push_back({fmt::format("{}_{}", name, end), end, Shows::number});
  columns.push_back({"worth", "worth", Shows::flag});
  return columns;
}

/// A sentence for each series of which more ranks are not worth it.
std::vector<std::string> scaling_limits(const ScalingStudy& study) {
  std::vector<std::string> sentences;
  std::set<std::string> told;
  for (const ScalingRow& row : study.rows) {
    const std::string series = series_label(row);
    if (row.worth || !told.insert(series).second) continue;
    sentences.push_back(fmt::format(
        "{}{}beyond {} ranks, another one gains less than half of what it costs, by a fit", series,
        series.empty() ? "" : ": ", row.ranks));
  }
  return sentences;
}

DataTable run_scaling(ReadStore& store, const StudyRequest& request) {
  const ScalingStudy study = analysis::study_scaling(store, request.sweeps);
  DataTable table;
  table.columns = scaling_columns(study, request.for_scripts);
  std::set<std::int64_t> ranks;  // rows that differ in their batch alone say nothing of more ranks
  bool compared = false;
  for (const ScalingRow& row : study.rows) {
    ranks.insert(row.ranks);
    compared = compared || !row.kind.empty();
    auto& cells = table.rows.emplace_back();
    for (const std::string& name : study.by)
      cells.push_back(text_of(row.series, name));
    cells.insert(
        cells.end(),
        {row.kind, static_cast<double>(row.nodes), static_cast<double>(row.ranks), row.batch,
         static_cast<double>(row.trials), row.samples_per_s.median, row.speedup, row.efficiency,
         row.tflops, row.seconds_to_target.median, row.node_seconds_to_target.median});
    if (!request.for_scripts) continue;
    for (const Estimate& estimate :
         {row.samples_per_s, row.seconds_to_target, row.node_seconds_to_target})
      cells.insert(cells.end(), {estimate.low, estimate.high});
    cells.emplace_back(row.worth);
  }
  table.notes = study.notes;
  for (std::string& sentence : scaling_limits(study))
    table.notes.push_back(std::move(sentence));
  table.charts = {scaling_chart(study)};
  table.telling = compared && ranks.size() > 1;
  return table;
}

}  // namespace

extern const Study scaling_study;
const Study scaling_study{
    "scaling",
    "what more ranks gain: speed-up and efficiency",
    "Each row is next to the one of the fewest ranks that differs by nothing else. With the same "
    "batch it is strong scaling, with the same batch a rank weak scaling. It also says from which "
    "number of ranks on they gain less than half of what they cost.",
    "thalweg scaling 12",
    "speedup efficiency weak strong",
    {},
    "Scaling",
    run_scaling,
    Study::Of::sweeps,
    true};

}  // namespace thalweg::db
