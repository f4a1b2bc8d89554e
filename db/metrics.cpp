// Points in, curves out. Layout and its reasons: metrics_format.md.
#include <algorithm>
#include <cmath>
#include <map>

#include "db/chunk.h"
#include "db/rows.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/transaction.h"
#include "db/thin.h"

namespace thalweg::db {
namespace {

// A full row: reading a curve of 10,000 points touches ten of them.
constexpr std::int64_t kFullChunk = 1024;
// The last row of a series is rewritten at every append; up to about one database page that costs
// no more than a single point's row would. Beyond it the row is poured into the one before.
constexpr std::int64_t kTail = 128;

const sqlite::Sql kFindAttempt{
    "find attempt of points",
    "SELECT id, journal_lines, clock FROM attempt WHERE sweep = ? AND trial = ? AND attempt = ?"};
const sqlite::Sql kAdvance{"advance journal lines",
                           "UPDATE attempt SET journal_lines = ?, clock = ? WHERE id = ?"};
const sqlite::Sql kFindMetric{"find metric", "SELECT id FROM metric_name WHERE name = ?"};
const sqlite::Sql kNewMetric{"new metric", "INSERT INTO metric_name (name) VALUES (?)"};
const sqlite::Sql kLastChunk{
    "read last chunk",
    "SELECT number, points, first_step, last_step, min, max, data FROM metric_chunk"
    " WHERE attempt = ? AND metric = ? AND number <= ? ORDER BY number DESC LIMIT 1"};
const sqlite::Sql kPutChunk{
    "write chunk",
    "INSERT INTO metric_chunk (attempt, metric, number, points, first_step, last_step, min, max,"
    " data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (attempt, metric, number) DO UPDATE SET points = excluded.points,"
    " first_step = excluded.first_step, last_step = excluded.last_step, min = excluded.min,"
    " max = excluded.max, data = excluded.data"};
// The newest attempt's newest point counts; lines of an older attempt that come late only widen min
// and max.
const sqlite::Sql kPutLatest{
    "write latest point",
    "INSERT INTO metric_latest AS l (sweep, trial, metric, attempt, step, value, time, min, max,"
    " points) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (sweep, trial, metric) DO UPDATE SET"
    " step = CASE WHEN excluded.attempt >= l.attempt THEN excluded.step ELSE l.step END,"
    " value = CASE WHEN excluded.attempt >= l.attempt THEN excluded.value ELSE l.value END,"
    " time = CASE WHEN excluded.attempt >= l.attempt THEN excluded.time ELSE l.time END,"
    " min = min(ifnull(l.min, excluded.min), ifnull(excluded.min, l.min)),"
    " max = max(ifnull(l.max, excluded.max), ifnull(excluded.max, l.max)),"
    " points = l.points + excluded.points,"
    " attempt = max(excluded.attempt, l.attempt)"};
const sqlite::Sql kCurve{
    "read curve",
    "SELECT a.attempt, a.clock, c.data FROM attempt AS a"
    " JOIN metric_chunk AS c ON c.attempt = a.id"
    " WHERE a.sweep = ? AND a.trial = ? AND c.metric = (SELECT id FROM metric_name WHERE name = ?)"
    " ORDER BY a.attempt, c.number"};
// CROSS JOIN: a look-up an attempt, in the order of the index over attempts.
const sqlite::Sql kCurves{"read curves",
                          "SELECT a.trial, a.attempt, a.clock, c.data FROM attempt AS a"
                          " CROSS JOIN metric_chunk AS c ON c.attempt = a.id"
                          " AND c.metric = (SELECT id FROM metric_name WHERE name = ?1)"
                          " WHERE a.sweep = ?2 ORDER BY a.trial, a.attempt, c.number"};
const sqlite::Sql kNames{"list metrics of sweep",
                         "SELECT name FROM metric_name WHERE id IN"
                         " (SELECT metric FROM metric_latest WHERE sweep = ?) ORDER BY name"};
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
const sqlite::Sql kLowest{
    "find trial with lowest value",
    "SELECT trial FROM metric_latest"
    " WHERE sweep = ? AND metric = (SELECT id FROM metric_name WHERE name = ?)"
    " AND min IS NOT NULL ORDER BY min, trial LIMIT 1"};
const sqlite::Sql kHighest{
    "find trial with highest value",
    "SELECT trial FROM metric_latest"
    " WHERE sweep = ? AND metric = (SELECT id FROM metric_name WHERE name = ?)"
    " AND max IS NOT NULL ORDER BY max DESC, trial LIMIT 1"};

const sqlite::Sql kSeries{
    "list curves of attempt",
    "SELECT c.metric, n.name, sum(c.points) FROM metric_chunk AS c"
    " JOIN metric_name AS n ON n.id = c.metric WHERE c.attempt = ? GROUP BY c.metric"};
const sqlite::Sql kChunksOf{
    "read chunks",
    "SELECT data FROM metric_chunk WHERE attempt = ? AND metric = ? ORDER BY number"};
const sqlite::Sql kDropSeries{"remove chunks",
                              "DELETE FROM metric_chunk WHERE attempt = ? AND metric = ?"};
const sqlite::Sql kFewer{"count points",
                         "UPDATE metric_latest SET points = points - ?"
                         " WHERE sweep = ? AND trial = ? AND metric = ?"};

/// Of any number a journal may hold: cut to some 146,000 years, so that differences of two are
/// numbers too.
std::int64_t microseconds(double seconds) {
  constexpr double most = 4.6e18;
  if (std::isnan(seconds)) return 0;
  return std::llround(std::clamp(seconds * 1e6, -most, most));
}

/// One attempt's series and what is appended to it in one call.
struct Append {
  sqlite::Connection& connection;
  std::int64_t attempt, metric;
  std::int64_t clock;

  std::optional<Chunk> last_chunk(std::int64_t at_most) {
    sqlite::Run run(connection, kLastChunk);
    run.bind(attempt).bind(metric).bind(at_most);
    if (!run.row()) return std::nullopt;
    Chunk chunk;
    chunk.number = run.integer(0);
    chunk.points = run.integer(1);
    chunk.first_step = run.integer(2);
    chunk.last_step = run.integer(3);
    chunk.min = run.real(4);
    chunk.max = run.real(5);
    chunk.data = run.text(6);
    return chunk;
  }

  void put(const Chunk& chunk) {
    connection.run(kPutChunk, attempt, metric, chunk.number, chunk.points, chunk.first_step,
                   chunk.last_step, chunk.min, chunk.max, chunk.data);
  }

  /// The chunk that new points go to; makes room for them first.
  Chunk open_tail(std::int64_t coming) {
    auto tail = last_chunk(std::numeric_limits<std::int64_t>::max());
    if (!tail) return {};
    if (tail->points + coming <= kTail) return *std::move(tail);
    auto before = last_chunk(tail->number - 1);
    Chunk fresh;
    if (before && before->points + tail->points <= kFullChunk) {
      before->append(*tail);
      put(*before);
      fresh.number = tail->number;  // replaces the row just poured out
    } else {
      fresh.number = tail->number + 1;
    }
    return fresh;
  }

  void points(const std::vector<const Point*>& new_points) {
    Chunk chunk = open_tail(static_cast<std::int64_t>(new_points.size()));
    for (const Point* point : new_points) {
      if (chunk.points >= kFullChunk) {
        put(chunk);
        const std::int64_t next = chunk.number + 1;
        chunk = Chunk();
        chunk.number = next;
      }
      chunk.append(point->step, point->value, microseconds(point->time) - clock);
    }
    put(chunk);
  }
};

struct Summary {
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

Summary summarize(const std::vector<const Point*>& points) {
  Summary summary;
  for (const Point* point : points) {
    summary.min = std::fmin(summary.min, point->value);
    summary.max = std::fmax(summary.max, point->value);
  }
  return summary;
}

/// Sorted by step; of several points of a step the one that came last stays. `curve` is in order of
/// coming.
void stitch(std::vector<CurvePoint>& curve) {
  const auto by_step = [](const CurvePoint& a, const CurvePoint& b) { return a.step < b.step; };
  if (!std::is_sorted(curve.begin(), curve.end(), by_step)) {
    std::stable_sort(curve.begin(), curve.end(), by_step);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (kept > 0 && curve[kept - 1].step == curve[i].step) --kept;
    curve[kept++] = curve[i];
  }
  curve.resize(kept);
}

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
  std::int64_t id = 0, lines = 0;
  std::optional<std::int64_t> clock;
  {
    sqlite::Run run(*connection_, kFindAttempt);
    run.bind(attempt.sweep).bind(attempt.trial).bind(attempt.attempt);
    if (!run.row()) throw Error("add points: there is no " + attempt_name(attempt));
    id = run.integer(0);
    lines = run.integer(1);
    if (!run.null(2)) clock = run.integer(2);
  }
  if (first_line != lines + 1 || last_line < first_line) return false;
  if (!clock && !points.empty()) clock = microseconds(std::floor(points.front().time));
  connection_->run(kAdvance, last_line, clock, id);

  std::map<std::string_view, std::vector<const Point*>> series;
  for (const Point& point : points)
    series[point.metric].push_back(&point);
  for (const auto& [name, of_series] : series) {
    const std::int64_t metric = metric_id(std::string(name));
    Append{*connection_, id, metric, *clock}.points(of_series);
    const Point& last = *of_series.back();
    const Summary summary = summarize(of_series);
    connection_->run(kPutLatest, attempt.sweep, attempt.trial, metric, attempt.attempt, last.step,
                     last.value, last.time, summary.min, summary.max, of_series.size());
  }
  transaction.commit();
  return true;
}

std::int64_t Store::thin_points(const Id& attempt, std::int64_t wanted, const std::string& own) {
  struct Series {
    std::int64_t metric = 0;
    Thinning how = Thinning::none;
  };
  sqlite::Transaction transaction(*connection_);
  std::int64_t id = 0;
  {
    sqlite::Run run(*connection_, kFindAttempt);
    run.bind(attempt.sweep).bind(attempt.trial).bind(attempt.attempt);
    if (!run.row()) throw Error("thin points: there is no " + attempt_name(attempt));
    id = run.integer(0);
  }
  std::vector<Series> all;
  {
    sqlite::Run run(*connection_, kSeries);
    run.bind(id);
    while (run.row()) {
      const Series series{run.integer(0), thinning_of(run.text(1), own)};
      if (series.how != Thinning::none && run.integer(2) > wanted) all.push_back(series);
    }
  }
  std::int64_t removed = 0;
  for (const Series& series : all) {
    std::vector<ThinPoint> points;
    {
      sqlite::Run run(*connection_, kChunksOf);
      run.bind(id).bind(series.metric);
      while (run.row())
        read_points(run.view(0), [&](std::int64_t step, double value, std::int64_t time) {
          points.push_back({step, value, time});
        });
    }
    const std::vector<ThinPoint> stay = thinned(points, wanted, series.how);
    if (stay.size() == points.size()) continue;
    connection_->run(kDropSeries, id, series.metric);
    Append append{*connection_, id, series.metric, 0};
    Chunk chunk;
    for (const ThinPoint& point : stay) {
      if (chunk.points >= kFullChunk) {
        append.put(chunk);
        const std::int64_t next = chunk.number + 1;
        chunk = Chunk();
        chunk.number = next;
      }
      chunk.append(point.step, point.value, point.time);
    }
    append.put(chunk);
    const auto fewer = static_cast<std::int64_t>(points.size() - stay.size());
    connection_->run(kFewer, fewer, attempt.sweep, attempt.trial, series.metric);
    removed += fewer;
  }
  transaction.commit();
  return removed;
}

namespace {

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
    stitch(curve);
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
  stitch(curve);
  thin(curve, max_points);
  return curve;
}

std::vector<std::string> ReadStore::metric_names(std::int64_t sweep) {
  std::vector<std::string> names;
  sqlite::Run run(*connection_, kNames);
  run.bind(sweep);
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

std::optional<Id> ReadStore::best_trial(std::int64_t sweep, const std::string& metric,
                                        bool maximize) {
  sqlite::Run run(*connection_, maximize ? kHighest : kLowest);
  run.bind(sweep).bind(metric);
  if (!run.row()) return std::nullopt;
  return Id{sweep, run.integer(0), 0};
}

}  // namespace thalweg::db
