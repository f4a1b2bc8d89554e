// Which parameters make the difference: shares of the variance of ranks, and what they are worth.
#include "db/analysis/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "db/studies/study.h"

namespace thalweg::db {
namespace {

using analysis::ImportanceStudy;

constexpr StudyOption importance_options[] = {
    {"metric", StudyOption::Kind::metric, "NAME", "of another metric"},
    {"best", StudyOption::Kind::number, "SHARE",
     "among this share of the configurations, the best ones (default: 1)"},
};

constexpr const char* alone_note =
    "Shares of the variance of ranks by the best value, each configuration the median over its "
    "seeds: first-order Sobol indices over a Gaussian process, with parameters independent of each "
    "other. What the process explains of unseen results is from 5 folds; below 50 % the section is "
    "left out.";

DataChart importance_chart(const ImportanceStudy& study, const std::string& configurations) {
  DataChart chart{"Which parameters matter", "", "% of the variance of ranks"};
  chart.series = {{"alone"}, {"together with others"}};
  for (const auto& share : study.found.parameters) {
    chart.bars.push_back(parameter_column(share.name).title);
    chart.series[0].y.push_back(100 * share.main);
    chart.series[1].y.push_back(std::max(0.0, 100 * share.total - 100 * share.main));
  }
  chart.caption =
      fmt::format("Of {} over {}; the process explains {:.0f} % of results that it has not seen.",
                  study.metric, configurations, 100 * study.found.explained);
  chart.note = alone_note;
  return chart;
}

DataTable run_importance(ReadStore& store, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  if (request.sweeps.size() > 1) throw std::invalid_argument("importance takes one sweep");
  const double best = request.number("best").value_or(1);
  if (!(best > 0 && best <= 1))
    throw std::invalid_argument("best: expected a number above 0 and up to 1");
  const ImportanceStudy study =
      analysis::study_importance(store, request.sweeps.front(), request.text("metric"), best);
  DataTable table;
  table.columns = {
      {"parameter", "parameter", Shows::text, "Names of parameters, as the sweep file has them."},
      {"alone", "alone", Shows::share, alone_note},
      {"with_others", "with others", Shows::share,
       "Total Sobol indices over the same process: also what the parameter does together with "
       "others."},
      {"values", "values", Shows::integer,
       "Different values of the parameter in the sweep, counted."}};
  for (const auto& share : study.found.parameters)
    table.rows.push_back({share.name, share.main, share.total, static_cast<double>(share.values)});
  for (const auto& pair : study.found.pairs)
    table.rows.push_back({pair.first + " with " + pair.second, pair.share, Datum(), Datum()});
  table.notes = study.notes;
  table.facts = {
      {{"metric", ""}, study.metric},
      {{"configurations", "", Shows::integer}, static_cast<double>(study.configurations)},
      {{"explained", "", Shows::share}, study.found.explained}};
  const std::string configurations = count_of(study.configurations, "configuration");
  if (!table.rows.empty())
    table.summary = {fmt::format(
        "shares of the variance of ranks by {} over {}; the model explains {:.0f} % of results "
        "that it has not seen",
        study.metric, configurations, 100 * study.found.explained)};
  constexpr double trusted = 0.5;
  table.telling = study.found.explained >= trusted;
  table.charts = {importance_chart(study, configurations)};
  return table;
}

}  // namespace

extern const Study importance_study;
const Study importance_study{
    "importance",
    "which parameters matter",
    "Shares of the variance of the ranks of results (Sobol indices over a Gaussian process): of "
    "each parameter alone, with all it does together with others, and of pairs. Each configuration "
    "counts by the median over its seeds. How much of unseen results the model explains is given; "
    "below a half the shares are not to be trusted. With --best 0.3 among the best 30 % of the "
    "configurations.",
    "thalweg importance 12\nthalweg importance 12 --best 0.3",
    "fanova sobol sensitivity hyperparameter",
    importance_options,
    "Which parameters matter",
    run_importance,
    Study::Of::sweeps,
    true};

}  // namespace thalweg::db
