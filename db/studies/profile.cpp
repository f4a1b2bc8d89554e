// One score over several sweeps, each of them a workload: performance profiles.
#include "db/analysis/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "db/studies/study.h"

namespace thalweg::db {
namespace {

using analysis::ProfileRow;
using analysis::ProfileStudy;

constexpr StudyOption profile_options[] = {
    {"by", StudyOption::Kind::names, "A,B", "what is scored: each value of these parameters"},
    {"best_over", StudyOption::Kind::names, "A,B",
     "each at its best values of these, as in compare"},
    {"target", StudyOption::Kind::number, "VALUE",
     "times to this value of the metric (default: each sweep's target)"},
    {"steps", StudyOption::Kind::flag, "", "steps to the target instead of seconds"},
    {"compat", StudyOption::Kind::flag, "",
     "the area as AlgoPerf's code has it: a trapezoid over 100 points"},
    {"held_out", StudyOption::Kind::pairs, "A=B,C=D",
     "sweep A only confirms sweep B: AlgoPerf's held-out rules"},
};

constexpr const char* ratios_note =
    "A group's time to each workload's target (the median over its trials) over that of the "
    "fastest group there. A profile is the share of workloads within so many times the best (Dolan "
    "and More, 2002); a workload is a sweep.";

/// The share of workloads on which a group is within so many times of the best one.
DataSeries profile_steps(const ProfileRow& row) {
  constexpr double most = 4;
  std::vector<double> ratios = row.ratios;
  std::sort(ratios.begin(), ratios.end());
  DataSeries series{row.group, false, {1}, {0}};
  const auto add = [&](double ratio, double share) {
    series.x.push_back(ratio);
    series.y.push_back(share);
  };
  double share = 0;
  for (const double ratio : ratios) {
    if (!(ratio <= most)) break;
    add(ratio, share);
    share += 1 / static_cast<double>(ratios.size());
    add(ratio, share);
  }
  add(most, share);
  return series;
}

DataChart profile_chart(const ProfileStudy& study) {
  constexpr std::size_t max_lines = 8;  // more cannot be told apart
  DataChart chart{"Performance profiles", "times the best", "share of workloads"};
  for (std::size_t i = 0; i < std::min(study.rows.size(), max_lines); ++i)
    chart.series.push_back(profile_steps(study.rows[i]));
  const auto workloads = static_cast<std::int64_t>(study.sweeps.size());
  chart.caption = fmt::format("Over {}; the first {} by score.{}", count_of(workloads, "workload"),
                              count_of(static_cast<std::int64_t>(chart.series.size()), "group"),
                              workloads == 1 ? " `thalweg report --also` adds sweeps." : "");
  chart.note = ratios_note;
  return chart;
}

DataTable run_profile(ReadStore& store, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  const ProfileStudy study = analysis::study_profiles(
      store, request.sweeps,
      {request.names("by"), request.names("best_over"), request.number("target"),
       request.flag("steps"), request.flag("compat"), request.pairs("held_out")});
  DataTable table;
  table.columns = {{"group", fmt::format("{}", fmt::join(study.by, ", ")), Shows::text,
                    "Values of the parameters that groups are made by."},
                   {"score", "score", Shows::number,
                    "The area under the profile from 1 to 4 times the best, over its width, as "
                    "AlgoPerf's: 1 is fastest everywhere, 0 never within 4 times the best."}};
  for (const std::int64_t sweep : study.sweeps)
    table.columns.push_back({fmt::format("sweep_{}", sweep), fmt::format("sweep {}", sweep),
                             Shows::times, ratios_note});
  if (request.for_scripts)
    for (const std::int64_t sweep : study.sweeps)
      table.columns.push_back({fmt::format("{}_{}", study.unit, sweep), study.unit, Shows::finite});
  for (const ProfileRow& row : study.rows) {
    auto& cells = table.rows.emplace_back();
    cells = {row.group, row.score};
    cells.insert(cells.end(), row.ratios.begin(), row.ratios.end());
    if (request.for_scripts) cells.insert(cells.end(), row.times.begin(), row.times.end());
  }
  table.notes = study.notes;
  table.facts = {{{"unit", ""}, study.unit}};
  table.charts = {profile_chart(study)};
  table.telling = study.rows.size() > 1;
  return table;
}

}  // namespace

extern const Study profile_study;
const Study profile_study{
    "profile",
    "score optimizers over several sweeps",
    "Each sweep is a workload with a target. The score is the area under the performance profile "
    "(Dolan and More; AlgoPerf): 1 is fastest everywhere, 0 never within 4 times the best. "
    "--held-out 14=12 applies the rules of AlgoPerf's competition: sweep 14 is a variant of sweep "
    "12 and is not scored. Its times count only with those of 12, and those of 12 only with those "
    "of all its variants. Times of more than 4 times the best are misses.",
    "thalweg profile 12 13 14 --by optimizer.name --best-over optimizer.lr",
    "algoperf score benchmark",
    profile_options,
    "Performance profiles",
    run_profile,
    Study::Of::workloads,
    true};

}  // namespace thalweg::db
