// What both plots share: series of points, and logarithmic axes with round ticks.
#pragma once

#include <string>
#include <vector>

#include "engine/perf/measure.h"

namespace thalweg::engine::perf {

enum class Measure { latency, bus_bandwidth };

struct Series {
  struct Point {
    double x, y, low, high;  ///< bytes; median, and between what 1 and 99 of a hundred calls lie
  };
  std::string name;
  std::vector<Point> points;  ///< ascending in x, all positive
};
/// One series a collective and algorithm asked for; without those that have no sizes or no values.
std::vector<Series> series_of(const std::vector<Result>& results, Measure measure);

/// Positions between 0 and 1 along a logarithmic axis.
struct Axis {
  struct Tick {
    double value;
    std::string text;
  };
  double low = 1, high = 10;
  std::vector<Tick> ticks;
  double at(double value) const;
};
/// Of all series' sizes: ticks are powers of two, at most `most`.
Axis size_axis(const std::vector<Series>& all, int most);
/// Of all series' medians, in whole decades; ticks are powers of ten with `unit`.
Axis value_axis(const std::vector<Series>& all, Measure measure);

std::string size_text(double bytes);  ///< "64 KiB"

}  // namespace thalweg::engine::perf
