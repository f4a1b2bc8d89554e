// Which points count, decided once, where they are written. A point counts unless
// - a later line of its attempt has the same step,
// - a later attempt has reported the metric at its step or before, or
// - a later attempt went on from a checkpoint before its step.
// So what an attempt reported stays up to where the next one begins, and what does not count is put
// aside (series.h). metric_latest follows: best and newest values are those of points that count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "db/rows.h"
#include "db/series.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/transaction.h"
#include "db/store.h"
#include "db/thin.h"

namespace thalweg::db {
namespace {

constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();

const sqlite::Sql kFindAttempt{
    "find attempt of points",
    "SELECT a.id, a.journal_lines, a.clock, (SELECT max(b.attempt) FROM attempt AS b"
    " WHERE b.sweep = a.sweep AND b.trial = a.trial) FROM attempt AS a"
    " WHERE a.sweep = ? AND a.trial = ? AND a.attempt = ?"};
const sqlite::Sql kAdvance{"advance journal lines",
                           "UPDATE attempt SET journal_lines = ?, clock = ? WHERE id = ?"};
const sqlite::Sql kFindMetric{"find metric", "SELECT id FROM metric_name WHERE name = ?"};
const sqlite::Sql kNewMetric{"new metric", "INSERT INTO metric_name (name) VALUES (?)"};
// Of the newest attempt, behind all other points of the metric.
const sqlite::Sql kPutLatest{
    "write latest point",
    "INSERT INTO metric_latest AS l (sweep, trial, metric, attempt, step, value, time, min, max,"
    " points) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (sweep, trial, metric) DO UPDATE SET attempt = excluded.attempt,"
    " step = excluded.step, value = excluded.value, time = excluded.time,"
    " min = min(ifnull(l.min, excluded.min), ifnull(excluded.min, l.min)),"
    " max = max(ifnull(l.max, excluded.max), ifnull(excluded.max, l.max)),"
    " points = l.points + excluded.points"};
const sqlite::Sql kDropLatest{
    "remove latest point",
    "DELETE FROM metric_latest WHERE sweep = ? AND trial = ? AND metric = ?"};
const sqlite::Sql kSummary{"summarize points",
                           "SELECT min(c.min), max(c.max), sum(c.points) FROM attempt AS a"
                           " CROSS JOIN metric_chunk AS c ON c.attempt = a.id AND c.metric = ?3"
                           " WHERE a.sweep = ?1 AND a.trial = ?2"};
const sqlite::Sql kNewest{"read newest points",
                          "SELECT a.attempt, a.clock, c.data FROM attempt AS a"
                          " CROSS JOIN metric_chunk AS c ON c.attempt = a.id AND c.metric = ?3"
                          " WHERE a.sweep = ?1 AND a.trial = ?2"
                          " ORDER BY a.attempt DESC, c.number DESC LIMIT 1"};

// The first step that an attempt trained anew; NULL where it does not say. A program that has
// reported no checkpoint may keep some of its own: only its reports tell where it went on.
#define REPLACES_FROM                                                      \
  "CASE WHEN json_type(s.record, '$.resumed_step') <> 'integer' THEN NULL" \
  " WHEN json_extract(s.record, '$.resumed_step') > 0"                     \
  " THEN json_extract(s.record, '$.resumed_step') + 1"                     \
  " WHEN json_extract(s.record, '$.device') <> 'program' THEN 0 END"
const sqlite::Sql kReplacesFrom{"find what an attempt replaces",
                                "SELECT " REPLACES_FROM
                                " FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id"
                                " WHERE a.sweep = ? AND a.trial = ? AND a.attempt = ?"};
const sqlite::Sql kReplacedFrom{
    "find what later attempts replace",
    "SELECT min(step) FROM"
    " (SELECT c.first_step AS step FROM attempt AS a"
    " CROSS JOIN metric_chunk AS c ON c.attempt = a.id AND c.metric = ?4"
    " WHERE a.sweep = ?1 AND a.trial = ?2 AND a.attempt > ?3"
    " UNION ALL SELECT r.first_step FROM attempt AS a"
    " CROSS JOIN metric_replaced AS r ON r.attempt = a.id AND r.metric = ?4"
    " WHERE a.sweep = ?1 AND a.trial = ?2 AND a.attempt > ?3"
    " UNION ALL SELECT " REPLACES_FROM
    " FROM attempt AS a"
    " CROSS JOIN attempt_start AS s ON s.attempt = a.id"
    " WHERE a.sweep = ?1 AND a.trial = ?2 AND a.attempt > ?3)"};
#undef REPLACES_FROM
const sqlite::Sql kEarlierSeries{
    "find replaced series",
    "SELECT DISTINCT a.id, c.metric FROM attempt AS a"
    " CROSS JOIN metric_chunk AS c ON c.attempt = a.id AND (?5 IS NULL OR c.metric = ?5)"
    " AND c.last_step >= ?4"
    " WHERE a.sweep = ?1 AND a.trial = ?2 AND a.attempt < ?3"};

const sqlite::Sql kSeries{
    "list curves of attempt",
    "SELECT c.metric, n.name, sum(c.points) FROM metric_chunk AS c"
    " JOIN metric_name AS n ON n.id = c.metric WHERE c.attempt = ? GROUP BY c.metric"};
const sqlite::Sql kFewer{"count points",
                         "UPDATE metric_latest SET points = points - ?"
                         " WHERE sweep = ? AND trial = ? AND metric = ?"};

const sqlite::Sql kUnsettled{"find unsettled sweeps",
                             "SELECT DISTINCT sweep FROM metric_unsettled"};
const sqlite::Sql kUnsettledSeries{
    "list unsettled series",
    "SELECT u.sweep, u.trial, u.metric, a.attempt, a.id FROM metric_unsettled AS u"
    " JOIN attempt AS a ON a.sweep = u.sweep AND a.trial = u.trial WHERE u.sweep = ?"
    " ORDER BY u.trial, u.metric, a.attempt DESC"};
const sqlite::Sql kSettled{"forget unsettled series",
                           "DELETE FROM metric_unsettled WHERE sweep = ?"};

/// Of any number a journal may hold: cut to some 146,000 years, so that differences of two are
/// numbers too.
std::int64_t microseconds(double seconds) {
  constexpr double most = 4.6e18;
  if (std::isnan(seconds)) return 0;
  return std::llround(std::clamp(seconds * 1e6, -most, most));
}

struct FoundAttempt {
  std::int64_t row = 0, lines = 0, newest = 0;
  std::optional<std::int64_t> clock;
};

FoundAttempt find_attempt(sqlite::Connection& connection, const Id& id, const char* purpose) {
  sqlite::Run run(connection, kFindAttempt);
  run.bind(id.sweep).bind(id.trial).bind(id.attempt);
  if (!run.row()) throw Error(std::string(purpose) + ": there is no " + attempt_name(id));
  FoundAttempt found{run.integer(0), run.integer(1), run.integer(3), std::nullopt};
  if (!run.null(2)) found.clock = run.integer(2);
  return found;
}

/// metric_latest from the points that count.
void put_latest_anew(sqlite::Connection& connection, const Id& trial, std::int64_t metric) {
  connection.run(kDropLatest, trial.sweep, trial.trial, metric);
  std::int64_t attempt = 0, clock = 0;
  ChunkPoint last;
  {
    sqlite::Run run(connection, kNewest);
    run.bind(trial.sweep).bind(trial.trial).bind(metric);
    if (!run.row()) return;
    attempt = run.integer(0);
    clock = run.integer(1);
    read_points(run.view(2), [&](std::int64_t step, double value, std::int64_t time) {
      last = {step, value, time};
    });
  }
  sqlite::Run run(connection, kSummary);
  run.bind(trial.sweep).bind(trial.trial).bind(metric);
  run.row();
  const double time = (static_cast<double>(clock) + static_cast<double>(last.time)) / 1e6;
  connection.run(kPutLatest, trial.sweep, trial.trial, metric, attempt, last.step, last.value, time,
                 run.maybe_real(0), run.maybe_real(1), run.integer(2));
}

/// Points of earlier attempts from a step on do not count any more: of one metric or of all.
/// Returns the metrics that had some.
std::vector<std::int64_t> replace_earlier(sqlite::Connection& connection, const Id& attempt,
                                          std::int64_t step, std::optional<std::int64_t> metric) {
  std::vector<std::pair<std::int64_t, std::int64_t>> series;
  {
    sqlite::Run run(connection, kEarlierSeries);
    run.bind(attempt.sweep).bind(attempt.trial).bind(attempt.attempt).bind(step).bind(metric);
    while (run.row())
      series.emplace_back(run.integer(0), run.integer(1));
  }
  std::vector<std::int64_t> metrics;
  for (const auto& [row, of_metric] : series) {
    Series(connection, row, of_metric).cut(step);
    metrics.push_back(of_metric);
  }
  std::sort(metrics.begin(), metrics.end());
  metrics.erase(std::unique(metrics.begin(), metrics.end()), metrics.end());
  return metrics;
}

/// From here on later attempts have replaced what this one reports.
std::int64_t replaced_from(sqlite::Connection& connection, const Id& attempt, std::int64_t metric) {
  sqlite::Run run(connection, kReplacedFrom);
  run.bind(attempt.sweep).bind(attempt.trial).bind(attempt.attempt).bind(metric);
  run.row();
  return run.null(0) ? kAllSteps : run.integer(0);
}

/// Puts those aside that later attempts have replaced. `points`: steps grow.
void put_late_aside(sqlite::Connection& connection, const Id& attempt, std::int64_t metric,
                    Series& series, std::vector<ChunkPoint>& points) {
  const std::int64_t from = replaced_from(connection, attempt, metric);
  const auto late =
      std::find_if(points.begin(), points.end(), [&](const auto& p) { return p.step >= from; });
  series.put_replaced({late, points.end()});
  points.erase(late, points.end());
}

/// What one call appends to the series of an attempt.
struct Append {
  sqlite::Connection& connection;
  const Id& attempt;
  const FoundAttempt& found;
  std::int64_t metric;

  /// True: other points than these changed, or these are not behind all others.
  bool operator()(std::vector<ChunkPoint> points) const {
    Series series(connection, found.row, metric);
    std::vector<ChunkPoint> replaced;
    sort_by_step(points, replaced);
    const bool newest = attempt.attempt == found.newest;
    auto tail = series.tail();
    const bool behind = tail ? points.front().step > tail->last_step : attempt.attempt == 1;
    if (newest && behind)
      add_behind(series, std::move(tail), points);
    else
      add_anywhere(series, std::move(points), newest);
    series.put_replaced(replaced);
    return !(newest && behind);
  }

  /// By far the most: nothing of what was there changes.
  void add_behind(Series& series, std::optional<Chunk> tail,
                  const std::vector<ChunkPoint>& points) const {
    Chunk summary;
    for (const ChunkPoint& point : points) {
      if (!std::isfinite(point.value)) continue;
      summary.min = std::fmin(summary.min, point.value);
      summary.max = std::fmax(summary.max, point.value);
    }
    const ChunkPoint& last = points.back();
    const double time = (static_cast<double>(*found.clock) + static_cast<double>(last.time)) / 1e6;
    series.append(std::move(tail), points);
    connection.run(kPutLatest, attempt.sweep, attempt.trial, metric, attempt.attempt, last.step,
                   last.value, time, summary.min, summary.max, points.size());
  }

  void add_anywhere(Series& series, std::vector<ChunkPoint> points, bool newest) const {
    const std::int64_t first = points.front().step;
    const std::int64_t first_before = series.first_step().value_or(kAllSteps);
    if (!newest) put_late_aside(connection, attempt, metric, series, points);
    series.merge(points);
    if (first < first_before && attempt.attempt > 1)
      replace_earlier(connection, attempt, first, metric);
    put_latest_anew(connection, attempt, metric);
  }
};

}  // namespace

std::int64_t Store::metric_id(const std::string& name) {
  {
    sqlite::Run run(*connection_, kFindMetric);
    run.bind(name);
    if (run.row()) return run.integer(0);
  }
  connection_->run(kNewMetric, name);
  return connection_->last_insert_id();
}

bool Store::add_points(const Id& attempt, std::int64_t first_line, std::int64_t last_line,
                       const std::vector<Point>& points) {
  sqlite::Transaction transaction(*connection_);
  FoundAttempt found = find_attempt(*connection_, attempt, "add points");
  if (first_line != found.lines + 1 || last_line < first_line) return false;
  if (!found.clock && !points.empty()) found.clock = microseconds(std::floor(points.front().time));
  connection_->run(kAdvance, last_line, found.clock, found.row);

  std::map<std::string_view, std::vector<ChunkPoint>> series;
  for (const Point& point : points)
    series[point.metric].push_back(
        {point.step, point.value, microseconds(point.time) - *found.clock});
  for (auto& [name, of_series] : series) {
    const auto by_step = [](const auto& a, const auto& b) { return a.step < b.step; };
    const std::int64_t first = std::min_element(of_series.begin(), of_series.end(), by_step)->step;
    const Append append{*connection_, attempt, found, metric_id(std::string(name))};
    if (append(std::move(of_series))) tell_rewritten(attempt, name, first);
  }
  transaction.commit();
  return true;
}

void Store::replace_points(const Id& attempt) {
  if (attempt.attempt <= 1) return;
  std::int64_t step = 0;
  {
    sqlite::Run run(*connection_, kReplacesFrom);
    run.bind(attempt.sweep).bind(attempt.trial).bind(attempt.attempt);
    if (!run.row() || run.null(0)) return;
    step = run.integer(0);
  }
  for (const std::int64_t metric : replace_earlier(*connection_, attempt, step, std::nullopt))
    put_latest_anew(*connection_, attempt, metric);
  tell_rewritten(attempt, {}, step);
}

void Store::tell_rewritten(const Id& attempt, std::string_view metric, std::int64_t step) {
  if (rewritten_) rewritten_({attempt.sweep, attempt.trial, 0}, metric, step);
}

std::int64_t Store::thin_points(const Id& attempt, std::int64_t wanted, const std::string& own) {
  struct OneSeries {
    std::int64_t metric = 0;
    Thinning how = Thinning::none;
  };
  sqlite::Transaction transaction(*connection_);
  const FoundAttempt found = find_attempt(*connection_, attempt, "thin points");
  std::vector<OneSeries> all;
  {
    sqlite::Run run(*connection_, kSeries);
    run.bind(found.row);
    while (run.row()) {
      const OneSeries series{run.integer(0), thinning_of(run.text(1), own)};
      if (series.how != Thinning::none && run.integer(2) > wanted) all.push_back(series);
    }
  }
  std::int64_t removed = 0;
  for (const OneSeries& each : all) {
    Series series(*connection_, found.row, each.metric);
    const std::vector<ChunkPoint> points = series.points();
    const std::vector<ChunkPoint> stay = thinned(points, wanted, each.how);
    if (stay.size() == points.size()) continue;
    series.rewrite(stay);
    const auto fewer = static_cast<std::int64_t>(points.size() - stay.size());
    connection_->run(kFewer, fewer, attempt.sweep, attempt.trial, each.metric);
    removed += fewer;
  }
  if (removed > 0) tell_rewritten(attempt, {}, std::numeric_limits<std::int64_t>::min());
  transaction.commit();
  return removed;
}

void Store::remove_points(const Id& attempt) {
  static const sqlite::Sql kChunks{
      "remove points",
      "DELETE FROM metric_chunk WHERE attempt = (SELECT id FROM attempt"
      " WHERE sweep = ? AND trial = ? AND attempt = ?)"};
  static const sqlite::Sql kReplaced{
      "remove replaced points",
      "DELETE FROM metric_replaced WHERE attempt = (SELECT id FROM attempt"
      " WHERE sweep = ? AND trial = ? AND attempt = ?)"};
  sqlite::Transaction transaction(*connection_);
  for (const sqlite::Sql* each : {&kChunks, &kReplaced})
    connection_->run(*each, attempt.sweep, attempt.trial, attempt.attempt);
  transaction.commit();
}

void Store::remove_points_of_sweep(std::int64_t sweep) {
  static const sqlite::Sql kChunks{
      "remove points",
      "DELETE FROM metric_chunk WHERE attempt IN (SELECT id FROM attempt WHERE sweep = ?)"};
  static const sqlite::Sql kReplaced{
      "remove replaced points",
      "DELETE FROM metric_replaced WHERE attempt IN (SELECT id FROM attempt WHERE sweep = ?)"};
  static const sqlite::Sql kLatest{"remove latest", "DELETE FROM metric_latest WHERE sweep = ?"};
  for (const sqlite::Sql* each : {&kChunks, &kReplaced, &kLatest})
    connection_->run(*each, sweep);
}

void Store::settle_points() {
  std::vector<std::int64_t> sweeps;
  {
    sqlite::Run run(*connection_, kUnsettled);
    while (run.row())
      sweeps.push_back(run.integer(0));
  }
  for (const std::int64_t sweep : sweeps) {
    sqlite::Transaction transaction(*connection_);
    settle_points_of(sweep);
    connection_->run(kSettled, sweep);
    transaction.commit();
  }
}

/// Of each series the newest attempt first: the others need its first step.
void Store::settle_points_of(std::int64_t sweep) {
  struct OneSeries {
    Id attempt;
    std::int64_t metric, row;
  };
  std::vector<OneSeries> all;
  {
    sqlite::Run run(*connection_, kUnsettledSeries);
    run.bind(sweep);
    while (run.row())
      all.push_back(
          {{run.integer(0), run.integer(1), run.integer(3)}, run.integer(2), run.integer(4)});
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [attempt, metric, row] = all[i];
    Series series(*connection_, row, metric);
    std::vector<ChunkPoint> points = series.points(), replaced;
    sort_by_step(points, replaced);
    series.put_replaced(replaced);
    put_late_aside(*connection_, attempt, metric, series, points);
    series.rewrite(points);
    const bool last = i + 1 == all.size() || all[i + 1].metric != metric ||
                      all[i + 1].attempt.trial != attempt.trial;
    if (last) put_latest_anew(*connection_, attempt, metric);
  }
}

}  // namespace thalweg::db
