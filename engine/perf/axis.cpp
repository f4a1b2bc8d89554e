#include "engine/perf/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace thalweg::engine::perf {
namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string time_text(double us) {
  if (us >= 1e6) return short_number(us / 1e6) + " s";
  if (us >= 1e3) return short_number(us / 1e3) + " ms";
  return short_number(us) + " µs";
}

std::string bandwidth_text(double gb_s) {
  return gb_s >= 1 ? short_number(gb_s) + " GB/s" : short_number(gb_s * 1e3) + " MB/s";
}

std::string series_name(const Result& result) {
  return result.choice == "auto" || result.algorithm.empty()
             ? result.collective
             : result.collective + " " + result.choice;
}

template <class F>
std::pair<double, double> range(const std::vector<Series>& all, F&& of) {
  double low = INFINITY, high = -INFINITY;
  for (const auto& series : all) {
    for (const auto& point : series.points) {
      low = std::min(low, of(point));
      high = std::max(high, of(point));
    }
  }
  return {low, high};
}

}  // namespace

std::vector<Series> series_of(const std::vector<Result>& results, Measure measure) {
  std::vector<Series> all;
  for (const auto& result : results) {
    const double factor = result.us.p50 * result.bus_bandwidth;  // bandwidth = factor / time
    const bool time = measure == Measure::latency;
    const auto x = static_cast<double>(result.bytes);
    const Series::Point point = time
                                    ? Series::Point{x, result.us.p50, result.us.min, result.us.p99}
                                    : Series::Point{x, result.bus_bandwidth, factor / result.us.p99,
                                                    factor / result.us.min};
    if (!(x > 0 && point.y > 0 && point.low > 0)) continue;
    const std::string name = series_name(result);
    auto at = std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.name == name; });
    if (at == all.end()) at = all.insert(all.end(), Series{name, {}});
    at->points.push_back(point);
  }
  return all;
}

double Axis::at(double value) const {
  return std::log(value / low) / std::log(high / low);
}

Axis size_axis(const std::vector<Series>& all, int most) {
  Axis axis;
  std::tie(axis.low, axis.high) = range(all, [](const Series::Point& p) { return p.x; });
  if (axis.high <= axis.low) axis.low /= 2, axis.high *= 2;
  const int first = static_cast<int>(std::ceil(std::log2(axis.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(axis.high) + 1e-9));
  int step = 1;
  while ((last - first) / step + 1 > most)
    step += step == 1 ? 1 : 2;
  for (int power = first; power <= last; power += step) {
    const double bytes = std::ldexp(1.0, power);
    axis.ticks.push_back({bytes, size_text(bytes)});
  }
  return axis;
}

Axis value_axis(const std::vector<Series>& all, Measure measure) {
  const auto [low, high] = range(all, [](const Series::Point& p) { return p.y; });
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high))));
  Axis axis;
  axis.low = std::pow(10.0, first);
  axis.high = std::pow(10.0, last);
  for (int power = first; power <= last; ++power) {
    const double value = std::pow(10.0, power);
    axis.ticks.push_back(
        {value, measure == Measure::latency ? time_text(value) : bandwidth_text(value)});
  }
  return axis;
}

std::string size_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) {
    bytes /= 1024;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", bytes, units[unit]);
  return text;
}

}  // namespace thalweg::engine::perf
