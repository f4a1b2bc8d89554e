// The text of a metric chunk: [[step,value,microseconds],...] (metrics_format.md). No SQL here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace thalweg::db {

struct ChunkPoint {
  std::int64_t step = 0;
  double value = 0;
  std::int64_t time = 0;  ///< microseconds since the attempt's clock, may be negative
};

/// Some points of one series in order of their steps, with the summary that stands beside the text.
struct Chunk {
  std::int64_t number = 0;
  std::int64_t points = 0;
  std::int64_t first_step = 0, last_step = 0;
  double min, max;  ///< of what is finite; NaN where nothing is
  std::string data = "[]";

  Chunk();
  /// The value is written in the shortest form that reads back the same; NaN as null, infinities as
  /// 9e999 and -9e999.
  void append(const ChunkPoint& point);
  void append(std::int64_t step, double value, std::int64_t time) { append({step, value, time}); }
  /// All of `later` behind the own points.
  void append(const Chunk& later);
};

/// Calls `each` for every point. Throws Error where the text is not what Chunk writes.
void read_points(
    std::string_view data,
    const std::function<void(std::int64_t step, double value, std::int64_t time)>& each);

}  // namespace thalweg::db
