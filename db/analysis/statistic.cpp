#include "db/analysis/statistic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "db/analysis/bootstrap.h"
#include "db/analysis/students_t.h"

namespace thalweg::db::analysis {
namespace {

constexpr const char* kNames[] = {"median", "mean", "best"};  // in the order of Statistic
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double mean_of(const std::vector<double>& values) {
  return values.empty() ? kNone
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double best_of(const std::vector<double>& values, bool larger_is_better) {
  if (values.empty()) return kNone;
  return larger_is_better ? *std::max_element(values.begin(), values.end())
                          : *std::min_element(values.begin(), values.end());
}

}  // namespace

const char* name_of(Statistic statistic) {
  return kNames[static_cast<std::size_t>(statistic)];
}

std::optional<Statistic> find_statistic(std::string_view name) {
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Statistic>(found - std::begin(kNames));
}

Estimate student_mean(const std::vector<double>& values, double confidence) {
  const double mean = mean_of(values);
  if (values.size() < 2 || !std::isfinite(mean)) return {mean, kNone, kNone};
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  const double t = students_t_quantile(1 - (1 - confidence) / 2, n - 1);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

double point_estimate(Statistic statistic, std::vector<double> values, bool larger_is_better) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  switch (statistic) {
    case Statistic::median:
      return median(std::move(values));
    case Statistic::mean:
      return mean_of(values);
    case Statistic::best:
      return best_of(values, larger_is_better);
  }
  return kNone;
}

Estimate estimate(Statistic statistic, std::vector<double> values, bool larger_is_better) {
  if (statistic == Statistic::median) return bootstrap_median(std::move(values));
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (statistic == Statistic::mean) return student_mean(values);
  return {best_of(values, larger_is_better), kNone, kNone};
}

}  // namespace thalweg::db::analysis
