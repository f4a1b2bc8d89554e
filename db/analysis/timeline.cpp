// The engine reports means over the steps since the last report; times their steps they add up to
// seconds. Queue and start-up come from the attempt's own times.
#include "db/analysis/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

#include "db/analysis/bootstrap.h"
#include "db/analysis/cells.h"
#include "jobspec/metric_names.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

namespace metric = jobspec::metric;

constexpr double kMaxQuerySeconds = 60;  // seconds for one query
constexpr double kMuchSlower = 1.1;      // a rank's computation against the median

enum class Source { held, own_times, per_step, newest, sum_of_ms };

/// A part, where its seconds come from, and what makes it smaller.
struct Part {
  const char* name;
  Source source;
  const char* metric;
  const char* advice;
};
constexpr Part kParts[] = {
    {"held", Source::held, "",
     "Slurm might not start it before: a hold, a begin time or a dependency"},
    {"queued", Source::own_times, "",
     "the queue gave it its nodes that late: fewer nodes, or a shorter resources.time, start "
     "sooner"},
    {"start-up", Source::own_times, metric::startup_s,
     "opening data and connecting ranks; longer runs pay it once"},
    {"kernels", Source::newest, metric::kernels_s,
     "measuring kernels: done once for all runs of these shapes that share their kernels.json"},
    {"data", Source::per_step, metric::data_ms,
     "steps wait for samples: more data.workers, or data.ahead"},
    {"compute", Source::per_step, metric::compute_ms,
     "forward and backward: the useful work of the nodes; precision bf16 or more ranks shorten it"},
    {"communication", Source::per_step, metric::comm_exposed_ms,
     "steps wait for sums of gradients: a larger batch per rank, fewer ranks, or sync.compress"},
    {"skew", Source::per_step, metric::skew_ms,
     "rank 0 waits for ranks that are slower to compute"},
    {"optimizer", Source::per_step, metric::optimizer_ms,
     "the update of the weights: a larger batch per rank makes it rarer"},
    {"validation", Source::newest, metric::validation_s, "eval less often, or on fewer samples"},
    {"checkpoints", Source::sum_of_ms, metric::checkpoint_ms, "checkpoint less often"},
};
constexpr const char* kOther = "other";
constexpr const char* kWaitsForPlace =
    "it waited for a free slot in a job that trials share: more trials, or jobs, of slurm.pack "
    "start it sooner";

struct TimelinePoint {
  std::int64_t step = 0;
  double value = 0;
};
using Points = std::map<std::string, std::vector<TimelinePoint>>;

Points points_of(ReadStore& store, const Id& attempt) {
  // Time was spent on replaced points too. ?4 and on: one for each in kParts.
  static constexpr const char* kSql =
      "SELECT metric, step, value FROM metrics WHERE sweep = ?1 AND trial = ?2 AND attempt = ?3"
      " AND metric IN (?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
      " UNION ALL"
      " SELECT metric, step, value FROM replaced_metrics"
      " WHERE sweep = ?1 AND trial = ?2 AND attempt = ?3"
      " AND metric IN (?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ORDER BY step";
  std::vector<jobspec::Value> bound{attempt.sweep, attempt.trial, attempt.attempt};
  for (const Part& part : kParts)
    if (*part.metric != '\0') bound.emplace_back(part.metric);
  Points points;
  const auto all = std::numeric_limits<std::int64_t>::max();
  for (const auto& row : store.query(kSql, all, kMaxQuerySeconds, bound).rows)
    if (row[2].is_number())
      points[row[0].as_string()].push_back({row[1].as_int(), row[2].as_double()});
  return points;
}

double newest(const Points& points, const char* name) {
  const auto found = points.find(name);
  return found == points.end() ? 0 : found->second.back().value;
}

double seconds_of(const Part& part, const Points& points, std::int64_t first_step) {
  const auto found = points.find(part.metric);
  if (found == points.end()) return 0;
  if (part.source == Source::newest) return found->second.back().value;
  double ms = 0;
  std::int64_t before = first_step;
  for (const TimelinePoint& point : found->second) {
    const double steps =
        part.source == Source::per_step ? static_cast<double>(point.step - before) : 1;
    ms += point.value * steps;
    before = point.step;
  }
  return ms / 1000;
}

std::vector<RankTime> ranks_of(ReadStore& store, const Id& attempt) {
  std::vector<RankTime> ranks;
  for (const auto& row :
       store
           .query("SELECT rank, node, data_ms, compute_ms, comm_exposed_ms, skew_ms, optimizer_ms"
                  " FROM ranks WHERE sweep = ? AND trial = ? AND attempt = ? ORDER BY rank",
                  std::numeric_limits<std::int64_t>::max(), kMaxQuerySeconds,
                  {attempt.sweep, attempt.trial, attempt.attempt})
           .rows)
    ranks.push_back({row[0].as_int(), row[1].is_null() ? "" : row[1].as_string(), number_of(row[2]),
                     number_of(row[3]), number_of(row[4]), number_of(row[5]), number_of(row[6])});
  return ranks;
}

/// "; rank 3 on n2 computes 41.0 ms a step, the median 20.1 ms", or nothing.
std::string slow_rank(const std::vector<RankTime>& ranks) {
  if (ranks.size() < 2) return {};
  std::vector<double> times;
  for (const RankTime& rank : ranks)
    times.push_back(rank.compute_ms);
  const double middle = median(times);
  const auto slowest =
      std::max_element(ranks.begin(), ranks.end(),
                       [](const auto& a, const auto& b) { return a.compute_ms < b.compute_ms; });
  if (slowest->compute_ms <= kMuchSlower * middle) return {};
  return fmt::format("; rank {} on {} computes {:.3g} ms a step, the median rank {:.3g} ms",
                     slowest->rank, slowest->node, slowest->compute_ms, middle);
}

std::int64_t resumed_step(ReadStore& store, const Id& attempt) {
  const auto rows = store
                        .query(
                            "SELECT resumed_step FROM starts WHERE sweep = ? AND trial = ?"
                            " AND attempt = ?",
                            1, kMaxQuerySeconds, {attempt.sweep, attempt.trial, attempt.attempt})
                        .rows;
  return rows.empty() || !rows[0][0].is_number() ? 0 : rows[0][0].as_int();
}

/// By AttemptRow::handle.
bool shares_job(const AttemptRow& row) {
  return row.handle.starts_with("pack:") ||
         (row.backend == "slurm" && row.handle.find('.') != row.handle.npos);
}

void name_bottleneck(AttemptTimeline& attempt, const AttemptRow& row) {
  const auto largest =
      std::max_element(attempt.parts.begin(), attempt.parts.end(),
                       [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (largest == attempt.parts.end()) return;
  attempt.bottleneck = largest->name;
  for (const Part& part : kParts)
    if (largest->name == part.name) attempt.advice = part.advice;
  if (attempt.bottleneck == "queued" && shares_job(row)) attempt.advice = kWaitsForPlace;
  if (attempt.advice.empty())
    attempt.advice = "nothing that the engine measures: its log may say more";
  attempt.advice += slow_rank(attempt.per_rank);
}

AttemptTimeline timeline_of(ReadStore& store, const AttemptRow& row, double now) {
  AttemptTimeline result;
  result.id = row.id;
  result.state = row.state;
  result.nodes = row.nodes;
  result.ranks = row.ranks;
  const double end = row.ended > 0 ? row.ended : now;
  result.seconds = std::max(0.0, end - row.launched);
  const Points points = points_of(store, row.id);
  const std::int64_t first = resumed_step(store, row.id);
  if (const auto found = points.find(metric::compute_ms); found != points.end())
    result.steps = found->second.back().step - first;
  const double kernels = newest(points, metric::kernels_s);
  double known = 0;
  for (const Part& part : kParts) {
    double seconds = 0;
    if (part.source == Source::held)
      seconds = row.eligible > 0 ? row.eligible - row.launched : 0;
    else if (part.source != Source::own_times)
      seconds = seconds_of(part, points, first);
    else if (*part.metric != '\0')
      seconds = newest(points, part.metric) - kernels;
    else
      seconds = (row.started > 0 ? row.started : end) - row.launched - known;
    seconds = std::clamp(seconds, 0.0, result.seconds - known);
    known += seconds;
    if (seconds > 0) result.parts.push_back({part.name, seconds});
  }
  if (result.seconds > known) result.parts.push_back({kOther, result.seconds - known});
  result.per_rank = ranks_of(store, row.id);
  name_bottleneck(result, row);
  return result;
}

}  // namespace

std::vector<AttemptTimeline> timeline(ReadStore& store, const Id& trial, double now) {
  std::vector<AttemptTimeline> all;
  const auto sweep = store.sweep(trial.sweep);
  double free = sweep ? sweep->submitted : 0;  // from when it could have been launched
  for (const AttemptRow& row : store.attempts(trial.sweep)) {
    if (row.id.trial != trial.trial) continue;
    all.push_back(timeline_of(store, row, now));
    all.back().waited = std::max(0.0, row.launched - free);
    free = row.ended;
  }
  return all;
}

}  // namespace thalweg::db::analysis
