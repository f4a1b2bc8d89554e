// Trials that differ in their seed only, or in what is not looked at, as one curve with a band.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "cli/output/plot.h"

namespace thalweg::cli {
namespace {

/// Between two points on a straight line; nothing outside the curve.
std::optional<double> value_at(const std::vector<PlotPoint>& curve, double x) {
  const auto after = std::lower_bound(curve.begin(), curve.end(), x,
                                      [](const PlotPoint& p, double at) { return p.x < at; });
  if (after == curve.end()) return std::nullopt;
  if (after->x == x) return after->y;
  if (after == curve.begin()) return std::nullopt;
  const PlotPoint& before = *(after - 1);
  return before.y + (after->y - before.y) * (x - before.x) / (after->x - before.x);
}

}  // namespace

PlotSeries median_of(const std::vector<std::vector<PlotPoint>>& curves) {
  std::vector<std::vector<PlotPoint>> kept;
  std::set<double> steps;
  for (const auto& curve : curves) {
    std::vector<PlotPoint> points;
    for (const PlotPoint& p : curve)
      if (std::isfinite(p.x) && std::isfinite(p.y)) points.push_back(p), steps.insert(p.x);
    if (!points.empty()) kept.push_back(std::move(points));
  }
  PlotSeries series;
  for (const double x : steps) {
    std::vector<double> values;
    for (const auto& curve : kept)
      if (const auto y = value_at(curve, x)) values.push_back(*y);
    if (values.empty() || 2 * values.size() < kept.size()) continue;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    series.points.push_back(
        {x, values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2});
    if (kept.size() > 1) series.band.push_back({x, values.front(), values.back()});
  }
  return series;
}

}  // namespace thalweg::cli
