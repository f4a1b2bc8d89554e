#include "db/series.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace thalweg::db {
namespace {

// A full row: reading a curve of 10,000 points touches ten of them.
constexpr std::int64_t kFullChunk = 1024;
// The last row of a series is rewritten at every append; up to about one database page that costs
// no more than a single point's row would. Beyond it the row is poured into the one before.
constexpr std::int64_t kTail = 128;

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
const sqlite::Sql kFirstFrom{"find chunk of step",
                             "SELECT min(number) FROM metric_chunk"
                             " WHERE attempt = ? AND metric = ? AND last_step >= ?"};
const sqlite::Sql kChunksFrom{
    "read chunks",
    "SELECT data FROM metric_chunk WHERE attempt = ? AND metric = ? AND number >= ?"
    " ORDER BY number"};
const sqlite::Sql kDropFrom{
    "remove chunks", "DELETE FROM metric_chunk WHERE attempt = ? AND metric = ? AND number >= ?"};
const sqlite::Sql kFirstStep{
    "find first step of series",
    "SELECT min(first_step) FROM"
    " (SELECT first_step FROM metric_chunk WHERE attempt = ?1 AND metric = ?2"
    " UNION ALL SELECT first_step FROM metric_replaced WHERE attempt = ?1 AND metric = ?2)"};
const sqlite::Sql kPutReplaced{
    "write replaced points",
    "INSERT INTO metric_replaced (attempt, metric, number, points, first_step, data)"
    " SELECT ?1, ?2, ifnull(max(number), 0) + 1, ?3, ?4, ?5 FROM metric_replaced"
    " WHERE attempt = ?1 AND metric = ?2"};

constexpr auto by_step = [](const ChunkPoint& a, const ChunkPoint& b) { return a.step < b.step; };

}  // namespace

void sort_by_step(std::vector<ChunkPoint>& points, std::vector<ChunkPoint>& replaced) {
  const auto not_growing = [](const auto& a, const auto& b) { return a.step >= b.step; };
  if (std::adjacent_find(points.begin(), points.end(), not_growing) == points.end()) return;
  std::stable_sort(points.begin(), points.end(), by_step);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (kept > 0 && points[kept - 1].step == points[i].step) replaced.push_back(points[--kept]);
    points[kept++] = points[i];
  }
  points.resize(kept);
}

std::optional<Chunk> Series::last_chunk(std::int64_t at_most) const {
  sqlite::Run run(connection_, kLastChunk);
  run.bind(attempt_).bind(metric_).bind(at_most);
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

std::optional<Chunk> Series::tail() const {
  return last_chunk(std::numeric_limits<std::int64_t>::max());
}

std::vector<ChunkPoint> Series::points() const {
  std::vector<ChunkPoint> points;
  sqlite::Run run(connection_, kChunksFrom);
  run.bind(attempt_).bind(metric_).bind(std::numeric_limits<std::int64_t>::min());
  while (run.row())
    read_points(run.view(0), [&](std::int64_t step, double value, std::int64_t time) {
      points.push_back({step, value, time});
    });
  return points;
}

std::optional<std::int64_t> Series::first_step() const {
  sqlite::Run run(connection_, kFirstStep);
  run.bind(attempt_).bind(metric_);
  if (!run.row() || run.null(0)) return std::nullopt;
  return run.integer(0);
}

void Series::put(const Chunk& chunk) {
  connection_.run(kPutChunk, attempt_, metric_, chunk.number, chunk.points, chunk.first_step,
                  chunk.last_step, chunk.min, chunk.max, chunk.data);
}

/// The chunk that new points go to; makes room for them first.
Chunk Series::open_tail(std::optional<Chunk> tail, std::int64_t coming) {
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

void Series::fill(Chunk chunk, const std::vector<ChunkPoint>& points) {
  for (const ChunkPoint& point : points) {
    if (chunk.points >= kFullChunk) {
      put(chunk);
      const std::int64_t next = chunk.number + 1;
      chunk = Chunk();
      chunk.number = next;
    }
    chunk.append(point);
  }
  if (chunk.points > 0) put(chunk);
}

void Series::append(std::optional<Chunk> tail, const std::vector<ChunkPoint>& points) {
  fill(open_tail(std::move(tail), static_cast<std::int64_t>(points.size())), points);
}

std::int64_t Series::take_from(std::int64_t step, std::vector<ChunkPoint>& points) {
  std::int64_t first = 0;
  {
    sqlite::Run run(connection_, kFirstFrom);
    run.bind(attempt_).bind(metric_).bind(step);
    run.row();
    if (run.null(0)) {
      const auto last = tail();
      return last ? last->number + 1 : 0;
    }
    first = run.integer(0);
  }
  {
    sqlite::Run run(connection_, kChunksFrom);
    run.bind(attempt_).bind(metric_).bind(first);
    while (run.row())
      read_points(run.view(0), [&](std::int64_t at, double value, std::int64_t time) {
        points.push_back({at, value, time});
      });
  }
  connection_.run(kDropFrom, attempt_, metric_, first);
  return first;
}

void Series::merge(const std::vector<ChunkPoint>& points) {
  if (points.empty()) return;
  std::vector<ChunkPoint> all, replaced;
  const std::int64_t number = take_from(points.front().step, all);
  all.insert(all.end(), points.begin(), points.end());
  sort_by_step(all, replaced);
  Chunk chunk;
  chunk.number = number;
  fill(std::move(chunk), all);
  put_replaced(replaced);
}

void Series::cut(std::int64_t step) {
  std::vector<ChunkPoint> stay;
  Chunk chunk;
  chunk.number = take_from(step, stay);
  const auto first = std::lower_bound(stay.begin(), stay.end(), ChunkPoint{step, 0, 0}, by_step);
  put_replaced({first, stay.end()});
  stay.erase(first, stay.end());
  fill(std::move(chunk), stay);
}

void Series::put_replaced(const std::vector<ChunkPoint>& points) {
  if (points.empty()) return;
  Chunk chunk;
  for (const ChunkPoint& point : points)
    chunk.append(point);
  const std::int64_t first = std::min_element(points.begin(), points.end(), by_step)->step;
  connection_.run(kPutReplaced, attempt_, metric_, chunk.points, first, chunk.data);
}

void Series::rewrite(const std::vector<ChunkPoint>& points) {
  connection_.run(kDropFrom, attempt_, metric_, std::numeric_limits<std::int64_t>::min());
  fill({}, points);
}

}  // namespace thalweg::db
