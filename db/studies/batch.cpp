// How far larger batches still save steps: steps to a target by batch, and the critical batch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "db/analysis/critical_batch.h"
#include "db/studies/study.h"

namespace thalweg::db {
namespace {

using analysis::BatchCurve;
using analysis::BatchGroup;
using analysis::BatchPoint;
using analysis::BatchStudy;

constexpr StudyOption batch_options[] = {
    {"target", StudyOption::Kind::number, "VALUE",
     "steps to this value of the metric (default: the sweep's target)"},
    {"by", StudyOption::Kind::names, "A,B",
     "a fit for each value of these parameters instead of one over all"},
};

constexpr const char* steps_note =
    "Counted to the first value as good as the target; a trial that missed it counts as infinite. "
    "The median over the seeds of the batch's configuration that needs the fewest steps.";
constexpr const char* batch_fit_note =
    "steps = fewest steps (1 + critical batch / batch), least squares of logs (McCandlish et al., "
    "arXiv:1812.06162); fewest samples = fewest steps x critical batch. The interval of the "
    "critical batch is approximate (profile likelihood, 95 %).";

/// The names of what was chosen for a batch, without those of the groups.
std::vector<std::string> chosen_names(const std::vector<const BatchCurve*>& curves,
                                      const std::vector<std::string>& by) {
  std::set<std::string> names;
  for (const BatchCurve* curve : curves)
    for (const BatchPoint& point : curve->points)
      for (const auto& [name, value] : point.chosen)
        names.insert(name);
  for (const std::string& name : by)
    names.erase(name);
  return {names.begin(), names.end()};
}

void add_batch_columns(std::vector<DataColumn>& columns, double target, bool fitted,
                       bool for_scripts) {
  using Shows = DataColumn::Shows;
  columns.insert(
      columns.end(),
      {{"configurations", "of", Shows::integer,
        "Configurations of this batch that the best one was chosen from, counted.", 3},
       {"reached", "reached", Shows::integer,
        "Seeds of the chosen configuration that reached the target, counted.", 2},
       {"seeds", "seeds", Shows::integer, "Seeds of the chosen configuration, counted.", 2},
       {"steps", fmt::format("steps to {:g}", target), Shows::number, steps_note},
       {"samples", "samples", Shows::number, "Steps times batch."}});
  if (fitted || for_scripts)
    columns.insert(
        columns.end(),
        {{"fitted", "fitted", Shows::number,
          "steps = fewest steps (1 + critical batch / batch), least squares of logs.", 1},
         {"regime", "regime", Shows::text,
          "By the derivative of log steps by log batch of the fit: perfect scaling below -0.8, "
          "maximal data parallelism above -0.2, between them diminishing returns."}});
  if (for_scripts)
    columns.insert(columns.end(), {{"noise_scale", "noise scale", Shows::number},
                                   {"steps_low", "low", Shows::number},
                                   {"steps_high", "high", Shows::number},
                                   {"trials", "trials", Shows::text}});
}

void add_batch_cells(std::vector<Datum>& cells, const BatchPoint& point, bool fitted,
                     bool for_scripts) {
  cells.insert(cells.end(),
               {static_cast<double>(point.configurations), static_cast<double>(point.reached),
                static_cast<double>(point.seeds), point.steps.median, point.samples});
  if (fitted || for_scripts) cells.insert(cells.end(), {point.fitted, point.regime});
  if (!for_scripts) return;
  cells.insert(cells.end(), {point.noise_scale, point.steps.low, point.steps.high,
                             fmt::format("{}", fmt::join(point.trials, ", "))});
}

/// Of a fit: five facts of one over all, or five columns of those of groups.
std::vector<DataColumn> fit_columns() {
  using Shows = DataColumn::Shows;
  return {{"b_crit", "critical batch", Shows::interval, batch_fit_note},
          {"s_min", "fewest steps", Shows::finite, batch_fit_note},
          {"e_min", "fewest samples", Shows::finite, batch_fit_note},
          {"residual", "log residual", Shows::finite,
           "The root of the mean squared difference of the logs of steps and fit."},
          {"noise_scale", "noise scale", Shows::finite,
           "The gradient noise scale: the median of what the trials of the smallest batch measured "
           "last, of those that reached the target where any did."}};
}

std::vector<Datum> fit_cells(const BatchCurve& curve) {
  if (!curve.fitted) return {Datum(), Datum(), Datum(), Datum(), curve.noise_scale};
  return {DataInterval{curve.b_crit, curve.b_crit_low, curve.b_crit_high}, curve.s_min, curve.e_min,
          curve.residual, curve.noise_scale};
}

DataTable fits_of_groups(const BatchStudy& study) {
  DataTable table;
  table.key = "fits";
  for (const std::string& name : study.by)
    table.columns.push_back(parameter_column(name));
  for (DataColumn& column : fit_columns())
    table.columns.push_back(std::move(column));
  for (const BatchGroup& group : study.groups) {
    auto& cells = table.rows.emplace_back();
    for (const std::string& name : study.by)
      cells.push_back(text_of(group.group, name));
    for (Datum& cell : fit_cells(group))
      cells.push_back(std::move(cell));
  }
  return table;
}

DataChart batch_chart(const BatchCurve& curve) {
  DataChart chart{"Steps to the target", "global batch", "steps", true, true};
  DataSeries measured{"measured", true}, fitted{"fitted"};
  for (const BatchPoint& point : curve.points) {
    for (DataSeries* series : {&measured, &fitted})
      series->x.push_back(point.batch);
    measured.y.push_back(point.steps.median);
    fitted.y.push_back(point.fitted);
  }
  chart.series = {std::move(measured)};
  if (curve.fitted) chart.series.push_back(std::move(fitted));
  chart.caption = "Steps to the target by global batch.";
  chart.note = steps_note;
  return chart;
}

DataTable run_batch(ReadStore& store, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  const BatchStudy study = analysis::study_batches(store, request.sweeps,
                                                   {request.number("target"), request.names("by")});
  std::vector<const BatchCurve*> curves;
  for (const BatchGroup& group : study.groups)
    curves.push_back(&group);
  const bool grouped = !curves.empty();
  if (!grouped) curves.push_back(&study);
  const bool fitted =
      std::any_of(curves.begin(), curves.end(), [](const auto* curve) { return curve->fitted; });
  const std::vector<std::string> by = grouped ? study.by : std::vector<std::string>(),
                                 chosen = chosen_names(curves, by);
  DataTable table;
  for (const std::string& name : by)
    table.columns.push_back(parameter_column(name));
  table.columns.push_back(
      {"batch", "batch", Shows::number,
       "Samples of an optimizer step over all ranks, as the trial was configured."});
  for (const std::string& name : chosen)
    table.columns.push_back(parameter_column(name));
  add_batch_columns(table.columns, study.target, fitted, request.for_scripts);
  for (std::size_t i = 0; i < curves.size(); ++i)
    for (const BatchPoint& point : curves[i]->points) {
      auto& cells = table.rows.emplace_back();
      for (const std::string& name : by)
        cells.push_back(text_of(study.groups[i].group, name));
      cells.emplace_back(point.batch);
      for (const std::string& name : chosen)
        cells.push_back(text_of(point.chosen, name));
      add_batch_cells(cells, point, fitted, request.for_scripts);
    }
  table.notes = study.notes;
  table.facts = {{{"metric", ""}, study.metric},
                 {{"target", "", Shows::number}, study.target},
                 {{"fitted", "", Shows::flag}, fitted}};
  if (grouped) {
    table.further = {fits_of_groups(study)};
  } else {
    const std::vector<DataColumn> heads = fit_columns();
    const std::vector<Datum> values = fit_cells(study);
    for (std::size_t i = 0; i < heads.size(); ++i)
      table.facts.push_back({heads[i], values[i]});
  }
  if (fitted)
    table.summary = {
        "steps = fewest steps (1 + critical batch / batch), fitted by least squares of logs;",
        "the interval is approximate (profile likelihood, 95 %)"};
  table.charts = {batch_chart(study)};
  table.telling = study.points.size() > 1;
  return table;
}

}  // namespace

extern const Study batch_study;
const Study batch_study{
    "batch",
    "how steps fall with batch size; the critical batch",
    "Steps to the target by global batch, each batch at its best configuration (the median over "
    "its seeds), and the fit steps = fewest (1 + critical batch / batch). Up to about the critical "
    "batch a larger one saves steps. Beyond it, it only costs samples. The noise scale beside it "
    "is the median of what the trials of the smallest batch measured last.",
    "thalweg batch 12\nthalweg batch 12 13 --target 0.14\n"
    "thalweg batch 12 --by optimizer.name",
    "critical noise scale hyperbola",
    batch_options,
    "Batch size",
    run_batch,
    Study::Of::sweeps,
    true};

}  // namespace thalweg::db
