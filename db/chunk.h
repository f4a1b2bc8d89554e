// The text of a metric chunk: [[step,value,microseconds],...] (metrics_format.md). No SQL here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace thalweg::db {

/// Some points of one series in the order they came, with the summary that stands beside the text.
struct Chunk {
  std::int64_t number = 0;
  std::int64_t points = 0;
  std::int64_t first_step = 0, last_step = 0;
  double min, max;  ///< NaN where there is no finite or infinite value yet
  std::string data = "[]";

  Chunk();
  /// `time`: microseconds since the attempt's clock, may be negative. The value is written in the
  /// shortest form that reads back the same; NaN as null, infinities as 9e999 and -9e999.
  void append(std::int64_t step, double value, std::int64_t time);
  /// All of `later` behind the own points.
  void append(const Chunk& later);
};

/// Calls `each` for every point. Throws Error where the text is not what Chunk writes.
void read_points(
    std::string_view data,
    const std::function<void(std::int64_t step, double value, std::int64_t time)>& each);

}  // namespace thalweg::db
