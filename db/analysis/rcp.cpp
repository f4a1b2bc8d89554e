// Boost has the t distribution; all else is sums over a handful of runs.
#include "db/analysis/rcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/text.h"
#include "db/analysis/names.h"
#include "db/analysis/records.h"
#include "db/analysis/students_t.h"

namespace thalweg::db::analysis {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::int64_t left_out = 2;  ///< the fastest and the slowest
constexpr double significance = 0.05;

}  // namespace

ConvergencePoint convergence_point(std::vector<double> values) {
  ConvergencePoint point;
  point.runs = static_cast<std::int64_t>(values.size());
  if (point.runs <= left_out) return point;
  std::sort(values.begin(), values.end());
  const auto begin = values.begin() + 1, end = values.end() - 1;
  const auto n = static_cast<double>(end - begin);
  point.mean = std::accumulate(begin, end, 0.0) / n;
  if (!std::isfinite(point.mean)) {
    point.mean = never;
    return point;
  }
  double squares = 0;
  for (auto value = begin; value != end; ++value)
    squares += (*value - point.mean) * (*value - point.mean);
  point.sd = std::sqrt(squares / n);
  return point;
}

double min_allowed(const ConvergencePoint& reference, std::int64_t runs) {
  const auto n = static_cast<double>(reference.runs - left_out), m = static_cast<double>(runs - 2);
  if (n < 2 || m < 1 || !std::isfinite(reference.mean)) return kUnknown;
  return reference.mean -
         students_t_quantile(1 - significance, n + m - 2) * reference.sd * std::sqrt(1 / n + 1 / m);
}

namespace {

struct Group {
  std::vector<double> values;
  std::set<double> batches;
  std::int64_t reached = 0;
};

std::string name_of(const std::vector<jobspec::Value>& values) {
  const std::string name = group_name(values);
  return name.empty() ? "all" : name;
}

std::vector<std::string> default_by(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  std::vector<std::string> by = varied_parameters(store, sweeps.front());
  if (by.empty() && sweeps.size() > 1) by.emplace_back(sweep_name);
  return by;
}

/// Gives the number of trials that have not ended, or were cancelled: they tell nothing.
std::int64_t add_sweep(ReadStore& store, std::int64_t id, const RcpOptions& options,
                       RcpStudy& study, std::map<std::string, Group>& groups) {
  auto row = store.sweep(id);
  if (!row) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
  if (options.target) row->target = options.target;
  if (!row->target)
    throw std::invalid_argument(
        fmt::format("sweep {} has no target: {} to which value of {}? (--target 0.1)", id,
                    study.unit, row->metric));
  if (study.target && (study.metric != row->metric || *study.target != *row->target))
    throw std::invalid_argument(
        fmt::format("sweep {} has a different target from sweep {}", id, study.sweeps.front()));
  study.metric = row->metric;
  study.target = row->target;
  for (const std::string& name : study.by)
    if (name != sweep_name && !has_hyperparameter(store, id, name))
      throw std::invalid_argument(fmt::format("sweep {} has no parameter {}", id, name));
  Wanted wanted{id, study.by, {}, row->metric, row->goal == jobspec::Goal::maximize, row->target};
  std::int64_t open = 0;
  for (const TrialRecord& trial : read_records(store, wanted)) {
    if (!trial.ended() || trial.state == TrialPhase::cancelled) {
      ++open;
      continue;
    }
    const double value = options.steps ? trial.steps : trial.samples;
    Group& group = groups[name_of(trial.group)];
    // One that failed before it reported anything did not get there either.
    group.values.push_back(std::isnan(value) ? never : value);
    if (std::isfinite(value)) ++group.reached;
    if (std::isfinite(trial.global_batch)) group.batches.insert(trial.global_batch);
  }
  return open;
}

RcpRow row_of(const std::string& name, const Group& group) {
  const ConvergencePoint point = convergence_point(group.values);
  RcpRow row;
  row.group = name;
  row.runs = point.runs;
  row.reached = group.reached;
  row.mean = point.mean;
  row.sd = point.sd;
  return row;
}

/// Against the reference; `at`: its point.
void judge(RcpRow& row, const RcpRow& reference, const ConvergencePoint& at) {
  if (row.group == reference.group) {
    row.verdict = "reference";
    return;
  }
  row.fewest = min_allowed(at, row.runs);
  if (row.runs <= left_out)
    row.verdict = fmt::format("{}, {} needed", count_of(row.runs, "run"), left_out + 1);
  else if (!std::isfinite(row.mean))
    row.verdict = "did not converge";
  else if (std::isnan(row.fewest))
    row.verdict = "not tested";
  else if (row.mean < row.fewest)
    row.verdict = "too fast";
  else
    row.verdict = "passes";
  if (row.verdict == "passes") row.factor = std::max(1.0, reference.mean / row.mean);
}

void add_notes(const RcpRow* reference, const std::map<std::string, Group>& groups,
               std::int64_t open, RcpStudy& study) {
  study.notes.push_back(
      "mean and sd leave out the fastest and the slowest run; a run that missed the target is the "
      "slowest");
  std::int64_t most = 0;
  for (const RcpRow& row : study.rows)
    most = row.verdict == "reference" ? most : std::max(most, row.runs);
  if (reference != nullptr) {
    study.notes.push_back(
        "fewest: below it an equal-variance one-sided t-test at 5 % says that the group needs less "
        "than the reference (for 7 to 10 % of equal groups, too, as both leave out their ends). "
        "Times of groups that pass with less count times `factor`");
    if (reference->runs < 2 * most)
      study.notes.push_back(
          fmt::format("the reference has {}; MLPerf requires twice as many as the {} of a "
                      "submission; with fewer, more of the equal groups look too fast",
                      count_of(reference->runs, "run"), most));
  }
  for (const auto& [name, group] : groups)
    if (group.batches.size() > 1)
      study.notes.push_back(
          fmt::format("the runs of {} have several batches: convergence depends on it", name));
  if (open > 0)
    study.notes.push_back("left out, since not ended or cancelled: " + count_of(open, "trial"));
}

}  // namespace

RcpStudy study_rcp(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                   const RcpOptions& options) {
  RcpStudy study;
  study.sweeps = sweeps;
  study.by = options.by.empty() ? default_by(store, sweeps) : options.by;
  study.unit = options.steps ? "steps" : "samples";
  study.reference = options.reference;
  std::map<std::string, Group> groups;
  std::int64_t open = 0;
  for (const std::int64_t sweep : sweeps)
    open += add_sweep(store, sweep, options, study, groups);
  std::optional<RcpRow> reference;
  for (const auto& [name, group] : groups) {
    study.rows.push_back(row_of(name, group));
    if (name == options.reference) reference = study.rows.back();
  }
  if (!options.reference.empty() && !reference) {
    std::string names;
    for (const auto& [name, group] : groups)
      names += (names.empty() ? "'" : ", '") + name + "'";
    throw std::invalid_argument(
        fmt::format("no group '{}'; there are {}", options.reference, names));
  }
  if (reference)
    for (RcpRow& row : study.rows)
      judge(row, *reference, convergence_point(groups.at(options.reference).values));
  std::stable_sort(study.rows.begin(), study.rows.end(), [](const RcpRow& a, const RcpRow& b) {
    const bool a_first = a.verdict == "reference", b_first = b.verdict == "reference";
    if (a_first != b_first) return a_first;
    return (std::isnan(a.mean) ? never : a.mean) < (std::isnan(b.mean) ? never : b.mean);
  });
  add_notes(reference ? &*reference : nullptr, groups, open, study);
  for (std::string& line : which_is_better(store, sweeps))
    study.notes.push_back(std::move(line));
  return study;
}

}  // namespace thalweg::db::analysis
