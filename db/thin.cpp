// Comparisons must not change when a curve is thinned: what they may rest on is left alone. Times
// of parts of a step are means, which the timeline multiplies by their steps; they are merged, not
// dropped.
#include "db/thin.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "jobspec/metric_names.h"

namespace thalweg::db {
namespace {

namespace metric = jobspec::metric;

constexpr std::array<std::string_view, 9> kMeans{
    metric::data_ms,         metric::compute_ms, metric::optimizer_ms,
    metric::comm_exposed_ms, metric::comm_ms,    metric::skew_ms,
    metric::overlap,         metric::tflops,     metric::samples_per_s};

bool grows(const std::vector<ThinPoint>& points) {
  return std::adjacent_find(points.begin(), points.end(), [](const auto& a, const auto& b) {
           return a.step >= b.step;
         }) == points.end();
}

/// Over the steps of points [first, last]; their values reach back to the point before `first`.
double mean(const std::vector<ThinPoint>& points, std::size_t first, std::size_t last) {
  double sum = 0, steps = 0;
  for (std::size_t i = first; i <= last; ++i) {
    if (!std::isfinite(points[i].value)) continue;
    const auto of_point = static_cast<double>(points[i].step - points[i - 1].step);
    sum += points[i].value * of_point;
    steps += of_point;
  }
  return steps > 0 ? sum / steps : points[last].value;
}

}  // namespace

Thinning thinning_of(std::string_view name, std::string_view own) {
  using namespace std::string_view_literals;
  if (name == own) return Thinning::none;
  for (const std::string_view set : {metric::validation, metric::test})
    if (name.starts_with(set) && name.substr(set.size()).starts_with('/')) return Thinning::none;
  if (std::find(kMeans.begin(), kMeans.end(), name) != kMeans.end()) return Thinning::mean;
  return name.starts_with("perf/"sv) ? Thinning::none : Thinning::sample;
}

std::vector<ThinPoint> thinned(const std::vector<ThinPoint>& points, std::int64_t wanted,
                               Thinning how) {
  const std::size_t size = points.size();
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(wanted, 2));
  if (how == Thinning::none || size <= count || !grows(points)) return points;
  std::vector<bool> stays(size, false);
  for (std::size_t i = 0; i < count; ++i)
    stays[i * (size - 1) / (count - 1)] = true;
  if (how == Thinning::sample) {
    std::size_t least = size, most = size;
    for (std::size_t i = 0; i < size; ++i) {
      if (!std::isfinite(points[i].value)) {
        stays[i] = true;
        continue;
      }
      if (least == size || points[i].value < points[least].value) least = i;
      if (most == size || points[i].value > points[most].value) most = i;
    }
    for (const std::size_t i : {least, most})
      if (i < size) stays[i] = true;
  }
  std::vector<ThinPoint> result;
  std::size_t first = 0;  // of what the next point stands for
  for (std::size_t i = 0; i < size; ++i) {
    if (!stays[i]) continue;
    result.push_back(points[i]);
    if (how == Thinning::mean && i > 0) result.back().value = mean(points, first, i);
    first = i + 1;
  }
  return result;
}

}  // namespace thalweg::db
