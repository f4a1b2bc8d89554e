// The points of one metric of one attempt as they are stored: those that count, sorted by step and
// one a step, and aside from them those that were replaced. points.cpp decides which is which; all
// who read (metrics.cpp, the views) find those that count. Layout and its reasons:
// metrics_format.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "db/chunk.h"
#include "db/sqlite/connection.h"

namespace thalweg::db {

/// Called inside of a transaction.
class Series {
 public:
  /// Of rows in the tables attempt and metric_name.
  Series(sqlite::Connection& connection, std::int64_t attempt, std::int64_t metric)
      : connection_(connection), attempt_(attempt), metric_(metric) {}

  /// The chunk with the largest steps; nothing where no point counts.
  std::optional<Chunk> tail() const;
  std::vector<ChunkPoint> points() const;
  /// The smallest step that was ever reported, whether it still counts or not.
  std::optional<std::int64_t> first_step() const;

  /// `points`: steps grow, and are all beyond those of `tail`, which tail() has returned.
  void append(std::optional<Chunk> tail, const std::vector<ChunkPoint>& points);
  /// `points`: steps grow. They take the places of those that have the same steps.
  void merge(const std::vector<ChunkPoint>& points);
  /// What has this step or a later one is replaced.
  void cut(std::int64_t step);
  /// Were reported and do not count.
  void put_replaced(const std::vector<ChunkPoint>& points);
  /// These count in place of those that did; the others are gone.
  void rewrite(const std::vector<ChunkPoint>& points);

 private:
  std::optional<Chunk> last_chunk(std::int64_t at_most) const;
  Chunk open_tail(std::optional<Chunk> tail, std::int64_t coming);
  void put(const Chunk& chunk);
  void fill(Chunk chunk, const std::vector<ChunkPoint>& points);
  /// Takes out the chunks from the one on that has the step, or one beyond it. Returns the number
  /// of the first.
  std::int64_t take_from(std::int64_t step, std::vector<ChunkPoint>& points);

  sqlite::Connection& connection_;
  std::int64_t attempt_, metric_;
};

/// Sorted by step; of several points of a step the one that came last stays, the others go to
/// `replaced`. `points` are in order of coming.
void sort_by_step(std::vector<ChunkPoint>& points, std::vector<ChunkPoint>& replaced);

}  // namespace thalweg::db
