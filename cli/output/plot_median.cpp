// Trials that differ in their seed only, or in what is not looked at, as one curve with a band.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "cli/output/plot.h"

namespace thalweg::cli {
namespace {

/// Between two points on a straight line; nothing outside the curve, NaN where one of the two is
/// not finite.
std::optional<double> value_at(const std::vector<PlotPoint>& curve, double x) {
  const auto after = std::lower_bound(curve.begin(), curve.end(), x,
                                      [](const PlotPoint& p, double at) { return p.x < at; });
  if (after == curve.end()) return std::nullopt;
  if (after->x == x) return std::isfinite(after->y) ? after->y : std::nan("");
  if (after == curve.begin()) return std::nullopt;
  const PlotPoint& before = *(after - 1);
  if (!std::isfinite(before.y) || !std::isfinite(after->y)) return std::nan("");
  return before.y + (after->y - before.y) * (x - before.x) / (after->x - before.x);
}

/// Of ascending values, at least one.
double quantile(const std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double next = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (next - values[below]) * (at - static_cast<double>(below));
}

}  // namespace

PlotSeries median_of(const std::vector<std::vector<PlotPoint>>& curves, Band band) {
  std::vector<std::vector<PlotPoint>> kept;
  std::set<double> steps;
  for (const auto& curve : curves) {
    std::vector<PlotPoint> points;
    for (const PlotPoint& p : curve)
      if (std::isfinite(p.x)) points.push_back(p), steps.insert(p.x);
    if (!points.empty()) kept.push_back(std::move(points));
  }
  PlotSeries series;
  const double nan = std::nan("");
  for (const double x : steps) {
    std::vector<double> values;
    for (const auto& curve : kept)
      if (const auto y = value_at(curve, x)) values.push_back(*y);
    if (values.empty() || 2 * values.size() < kept.size()) continue;
    const std::size_t reached = values.size();
    std::erase_if(values, [](double y) { return !std::isfinite(y); });
    series.counted.push_back({values.size(), reached});
    // Of fewer than half a median would be of the trials that happened to stay finite.
    if (values.empty() || 2 * values.size() < reached) {
      series.points.push_back({x, nan});
      if (kept.size() >= 2) series.band.push_back({x, nan, nan});
      continue;
    }
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    series.points.push_back(
        {x, values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2});
    if (kept.size() < 2) continue;
    const double edge = band == Band::quartiles ? 0.25 : 0;
    series.band.push_back({x, quantile(values, edge), quantile(values, 1 - edge)});
  }
  return series;
}

}  // namespace thalweg::cli
