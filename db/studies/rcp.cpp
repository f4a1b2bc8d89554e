// MLPerf's reference convergence points: samples to a target against a reference's.
#include "db/analysis/rcp.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "db/studies/study.h"

namespace thalweg::db {
namespace {

constexpr StudyOption rcp_options[] = {
    {"by", StudyOption::Kind::names, "A,B",
     "what makes the groups (default: what varies; sweep, where nothing does)"},
    {"reference", StudyOption::Kind::text, "GROUP",
     "the reference group: its values, as they are printed"},
    {"target", StudyOption::Kind::number, "VALUE",
     "samples to this value of the metric (default: the sweeps' target)"},
    {"steps", StudyOption::Kind::flag, "", "steps to the target instead of samples"},
};

DataTable run_rcp(ReadStore& store, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  analysis::RcpOptions wanted;
  wanted.by = request.names("by");
  wanted.reference = request.text("reference");
  wanted.target = request.number("target");
  wanted.steps = request.flag("steps");
  const analysis::RcpStudy study = analysis::study_rcp(store, request.sweeps, wanted);
  DataTable table;
  table.columns = {{"group", fmt::format("{}", fmt::join(study.by, ", "))},
                   {"runs", "runs", Shows::integer, "", 1},
                   {"reached", "reached", Shows::integer, "", 1},
                   {"mean", study.unit, Shows::finite},
                   {"sd", "sd", Shows::finite}};
  const bool judged = !study.reference.empty();
  if (judged)
    table.columns.insert(table.columns.end(), {{"fewest", "fewest", Shows::finite},
                                               {"factor", "factor", Shows::finite, "", 1},
                                               {"verdict", "verdict"}});
  for (const analysis::RcpRow& row : study.rows) {
    auto& cells = table.rows.emplace_back();
    cells = {row.group, static_cast<double>(row.runs), static_cast<double>(row.reached), row.mean,
             row.sd};
    if (judged) cells.insert(cells.end(), {row.fewest, row.factor, row.verdict});
  }
  table.notes = study.notes;
  table.facts = {{{"metric", ""}, study.metric},
                 {{"target", "", Shows::number}, study.target.value()},
                 {{"unit", ""}, study.unit},
                 {{"reference", ""}, study.reference}};
  return table;
}

}  // namespace

extern const Study rcp_study;
const Study rcp_study{
    "rcp",
    "samples to target against a reference, by MLPerf rules",
    "Reference convergence points: whether groups of runs need no fewer samples than the "
    "reference's runs could, to rule out that a speed-up comes from changed convergence. The "
    "fastest and the slowest run are left out; the test is a one-sided t-test at 5 %. The "
    "deviation "
    "is that of the runs that are left, as MLPerf's text has it; its checker's code takes that of "
    "all runs.",
    "thalweg rcp 12 --by optimizer.name --reference lamb\n"
    "thalweg rcp 12 13 --by sweep --reference 12",
    "mlperf convergence reference",
    rcp_options,
    "",
    run_rcp};

}  // namespace thalweg::db
