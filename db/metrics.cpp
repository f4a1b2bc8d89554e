// Curves, best and newest values, of the points that count (points.cpp says which those are).
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "db/chunk.h"
#include "db/sqlite/connection.h"
#include "db/store.h"

namespace thalweg::db {
namespace {

const sqlite::Sql kCurve{
    "read curve",
    "SELECT a.attempt, a.clock, c.data FROM attempt AS a"
    " JOIN metric_chunk AS c ON c.attempt = a.id"
    " WHERE a.sweep = ? AND a.trial = ? AND c.metric = (SELECT id FROM metric_name WHERE name = ?)"
    " ORDER BY a.attempt, c.number"};
// CROSS JOIN: backwards along two indexes, without sorting, for as many rows as are asked for.
const sqlite::Sql kCurveBackwards{
    "read curve backwards",
    "SELECT a.attempt, a.clock, c.data, c.last_step FROM attempt AS a"
    " CROSS JOIN metric_chunk AS c ON c.attempt = a.id"
    " AND c.metric = (SELECT id FROM metric_name WHERE name = ?3)"
    " WHERE a.sweep = ?1 AND a.trial = ?2 ORDER BY a.attempt DESC, c.number DESC"};
// CROSS JOIN: a look-up an attempt, in the order of the index over attempts.
const sqlite::Sql kCurves{"read curves",
                          "SELECT a.trial, a.attempt, a.clock, c.data FROM attempt AS a"
                          " CROSS JOIN metric_chunk AS c ON c.attempt = a.id"
                          " AND c.metric = (SELECT id FROM metric_name WHERE name = ?1)"
                          " WHERE a.sweep = ?2 ORDER BY a.trial, a.attempt, c.number"};
const sqlite::Sql kReported{
    "read reported points",
    "SELECT attempt, clock, data FROM"
    " (SELECT a.attempt AS attempt, a.clock AS clock, 0 AS counts, r.number AS number,"
    " r.data AS data FROM attempt AS a JOIN metric_replaced AS r ON r.attempt = a.id"
    " WHERE a.sweep = ?1 AND a.trial = ?2"
    " AND r.metric = (SELECT id FROM metric_name WHERE name = ?3)"
    " UNION ALL SELECT a.attempt, a.clock, 1, c.number, c.data FROM attempt AS a"
    " JOIN metric_chunk AS c ON c.attempt = a.id WHERE a.sweep = ?1 AND a.trial = ?2"
    " AND c.metric = (SELECT id FROM metric_name WHERE name = ?3))"
    " ORDER BY attempt, counts, number"};
const sqlite::Sql kNames{"list metrics of sweep",
                         "SELECT name FROM metric_name WHERE id IN"
                         " (SELECT metric FROM metric_latest WHERE sweep = ?) ORDER BY name"};
const sqlite::Sql kNamesOfAttempt{
    "list metrics of attempt",
    "SELECT name FROM metric_name WHERE id IN (SELECT c.metric FROM attempt AS a"
    " JOIN metric_chunk AS c ON c.attempt = a.id WHERE a.sweep = ?1 AND a.trial = ?2"
    " AND a.attempt = ?3 UNION SELECT r.metric FROM attempt AS a"
    " JOIN metric_replaced AS r ON r.attempt = a.id WHERE a.sweep = ?1 AND a.trial = ?2"
    " AND a.attempt = ?3) ORDER BY name"};
const sqlite::Sql kLatest{"read latest points",
                          "SELECT l.sweep, l.trial, n.name, l.step, l.value, l.time, l.min, l.max"
                          " FROM metric_latest AS l JOIN metric_name AS n ON n.id = l.metric"
                          " WHERE l.sweep = ? ORDER BY l.trial, n.name"};
// CROSS JOIN keeps SQLite at one look-up a trial; the other way round it goes through all metrics.
const sqlite::Sql kLatestOf{
    "read latest points of a metric",
    "SELECT l.sweep, l.trial, ?1, l.step, l.value, l.time, l.min, l.max"
    " FROM trial AS t CROSS JOIN metric_latest AS l ON l.sweep = t.sweep AND l.trial = t.trial"
    " AND l.metric = (SELECT id FROM metric_name WHERE name = ?1)"
    " WHERE t.sweep = ?2 ORDER BY t.trial"};
const sqlite::Sql kLatestOfTrial{
    "read latest points of a trial",
    "SELECT l.sweep, l.trial, n.name, l.step, l.value, l.time, l.min, l.max"
    " FROM metric_latest AS l JOIN metric_name AS n ON n.id = l.metric"
    " WHERE l.sweep = ? AND l.trial = ? ORDER BY n.name"};
const sqlite::Sql kLastSteps{
    "read last steps", "SELECT trial, max(step) FROM metric_latest WHERE sweep = ? GROUP BY trial"};

/// `wanted` of the points at even distances, the first and the last among them.
void thin(std::vector<CurvePoint>& curve, std::int64_t wanted) {
  const auto size = static_cast<std::int64_t>(curve.size());
  if (wanted <= 0 || size <= wanted) return;
  if (wanted == 1) {
    curve.front() = curve.back();
  } else {
    for (std::int64_t i = 0; i < wanted; ++i) {
      curve[static_cast<std::size_t>(i)] =
          curve[static_cast<std::size_t>(i * (size - 1) / (wanted - 1))];
    }
  }
  curve.resize(static_cast<std::size_t>(wanted));
}

/// Columns `first` and on: the attempt's number, its clock and a chunk.
void add_chunk(sqlite::Run& run, int first, std::vector<CurvePoint>& curve) {
  const std::int64_t attempt = run.integer(first), clock = run.integer(first + 1);
  read_points(run.view(first + 2), [&](std::int64_t step, double value, std::int64_t time) {
    curve.push_back(
        {step, value, (static_cast<double>(clock) + static_cast<double>(time)) / 1e6, attempt});
  });
}

}  // namespace

void ReadStore::curves(
    std::int64_t sweep, const std::string& metric,
    const std::function<void(std::int64_t, const std::vector<CurvePoint>&)>& each) {
  std::vector<CurvePoint> curve;
  std::int64_t trial = 0;
  const auto hand_out = [&] {
    if (curve.empty()) return;
    each(trial, curve);
    curve.clear();
  };
  sqlite::Run run(*connection_, kCurves);
  run.bind(metric).bind(sweep);
  while (run.row()) {
    if (run.integer(0) != trial) hand_out();
    trial = run.integer(0);
    add_chunk(run, 1, curve);
  }
  hand_out();
}

std::vector<CurvePoint> ReadStore::curve(const Id& trial, const std::string& metric,
                                         std::int64_t max_points) {
  std::vector<CurvePoint> curve;
  sqlite::Run run(*connection_, kCurve);
  run.bind(trial.sweep).bind(trial.trial).bind(metric);
  while (run.row())
    add_chunk(run, 0, curve);
  thin(curve, max_points);
  return curve;
}

std::vector<CurvePoint> ReadStore::curve_end(const Id& trial, const std::string& metric,
                                             std::int64_t step) {
  std::vector<CurvePoint> backwards, chunk;
  sqlite::Run run(*connection_, kCurveBackwards);
  run.bind(trial.sweep).bind(trial.trial).bind(metric);
  while (run.row() && run.integer(3) >= step) {
    chunk.clear();
    add_chunk(run, 0, chunk);
    backwards.insert(backwards.end(), chunk.rbegin(), chunk.rend());
  }
  std::reverse(backwards.begin(), backwards.end());
  return backwards;
}

std::vector<CurvePoint> ReadStore::reported(const Id& trial, const std::string& metric) {
  std::vector<CurvePoint> points;
  sqlite::Run run(*connection_, kReported);
  run.bind(trial.sweep).bind(trial.trial).bind(metric);
  while (run.row())
    add_chunk(run, 0, points);
  std::stable_sort(points.begin(), points.end(), [](const CurvePoint& a, const CurvePoint& b) {
    return std::tie(a.attempt, a.step) < std::tie(b.attempt, b.step);
  });
  return points;
}

std::vector<std::string> ReadStore::metric_names(std::int64_t sweep) {
  std::vector<std::string> names;
  sqlite::Run run(*connection_, kNames);
  run.bind(sweep);
  while (run.row())
    names.push_back(run.text(0));
  return names;
}

std::vector<std::string> ReadStore::metric_names(const Id& attempt) {
  std::vector<std::string> names;
  sqlite::Run run(*connection_, kNamesOfAttempt);
  run.bind(attempt.sweep).bind(attempt.trial).bind(attempt.attempt);
  while (run.row())
    names.push_back(run.text(0));
  return names;
}

namespace {

std::vector<ReadStore::Latest> read_latest(sqlite::Run& run) {
  std::vector<ReadStore::Latest> rows;
  while (run.row()) {
    rows.push_back({{run.integer(0), run.integer(1), 0},
                    run.text(2),
                    run.integer(3),
                    run.real(4),
                    run.real(5),
                    run.real(6),
                    run.real(7)});
  }
  return rows;
}

}  // namespace

std::vector<ReadStore::Latest> ReadStore::latest(std::int64_t sweep) {
  sqlite::Run run(*connection_, kLatest);
  run.bind(sweep);
  return read_latest(run);
}

std::map<std::int64_t, std::int64_t> ReadStore::last_steps(std::int64_t sweep) {
  std::map<std::int64_t, std::int64_t> steps;
  sqlite::Run run(*connection_, kLastSteps);
  run.bind(sweep);
  while (run.row())
    steps.emplace_hint(steps.end(), run.integer(0), run.integer(1));
  return steps;
}

std::vector<ReadStore::Latest> ReadStore::latest(std::int64_t sweep, const std::string& metric) {
  sqlite::Run run(*connection_, kLatestOf);
  run.bind(metric).bind(sweep);
  return read_latest(run);
}

std::vector<ReadStore::Latest> ReadStore::latest(const Id& trial) {
  sqlite::Run run(*connection_, kLatestOfTrial);
  run.bind(trial.sweep).bind(trial.trial);
  return read_latest(run);
}

std::vector<std::int64_t> ReadStore::best_trials(std::int64_t sweep, const std::string& metric,
                                                 bool maximize) {
  std::vector<Latest> ranked = latest(sweep, metric);
  std::erase_if(ranked, [&](const Latest& each) { return std::isnan(each.best(maximize)); });
  std::sort(ranked.begin(), ranked.end(),
            [&](const Latest& a, const Latest& b) { return a.is_before(b, maximize); });
  std::vector<std::int64_t> trials;
  for (const Latest& each : ranked)
    trials.push_back(each.trial.trial);
  return trials;
}

std::optional<Id> ReadStore::best_trial(std::int64_t sweep, const std::string& metric,
                                        bool maximize) {
  const auto ranked = best_trials(sweep, metric, maximize);
  if (ranked.empty()) return std::nullopt;
  return Id{sweep, ranked.front(), 0};
}

bool ReadStore::Latest::is_before(const Latest& other, bool maximize) const {
  const auto key = [&](const Latest& of) {
    const double best = of.best(maximize);
    return std::tuple(of.diverged(), std::isnan(best),
                      std::isnan(best) ? 0
                      : maximize       ? -best
                                       : best,
                      of.trial.trial);
  };
  return key(*this) < key(other);
}

}  // namespace thalweg::db
