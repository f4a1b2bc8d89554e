#include "db/analysis/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace thalweg::db::analysis {
namespace {

/// Sorted, without NaN.
std::vector<double> prepared(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::sort(values.begin(), values.end());
  return values;
}

/// Halfway; also where one or both are infinite.
double middle(double a, double b) {
  return a == b ? a : a + (b - a) / 2;
}

double sorted_median(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : middle(sorted[half - 1], sorted[half]);
}

/// P(Binomial(n, p) >= k). By logarithms of the terms, so that n in the thousands does not
/// overflow.
double at_least(int n, double p, int k) {
  if (p >= 1) return 1;
  if (p <= 0) return k <= 0 ? 1 : 0;
  double sum = 0;
  for (int i = k; i <= n; ++i) {
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) +
                    i * std::log(p) + (n - i) * std::log1p(-p));
  }
  return std::min(sum, 1.0);
}

using Weighted = std::vector<std::pair<double, double>>;  ///< value of the median, its probability

// The sums carry rounding errors of some 1e-14; a level hit exactly must not slip to the next
// value.
constexpr double kLevelSlack = 1e-11;

/// The smallest value at which the distribution function of the median reaches `level`, for odd n =
/// 2m + 1: the resample's median is at most sorted[i] when at least m + 1 of its values are.
double odd_quantile(const std::vector<double>& sorted, double level) {
  const int n = static_cast<int>(sorted.size());
  int low = 0, high = n - 1;
  while (low < high) {
    const int i = (low + high) / 2;
    if (at_least(n, (i + 1.0) / n, n / 2 + 1) >= level - kLevelSlack) {
      high = i;
    } else {
      low = i + 1;
    }
  }
  return sorted[static_cast<std::size_t>(low)];
}

using Weighted = std::vector<std::pair<double, double>>;  ///< value of the median, its probability

/// Even n = 2m: the m-th and (m+1)-th smallest of the resample are sorted[i] and sorted[j], i < j,
/// when m of its values are at most sorted[i], one of them equal, and the other m at least
/// sorted[j], one of them equal.
Weighted even_distribution(const std::vector<double>& sorted) {
  const int n = static_cast<int>(sorted.size());
  const int m = n / 2;
  const double ways = std::exp(std::lgamma(n + 1.0) - 2 * std::lgamma(m + 1.0));
  const auto part = [&](int count) {  // (count/n)^m - ((count-1)/n)^m
    return std::pow(static_cast<double>(count) / n, m) - std::pow((count - 1.0) / n, m);
  };
  Weighted distribution;
  double below = 0;
  for (int i = 0; i < n; ++i) {
    const double value = sorted[static_cast<std::size_t>(i)];
    const double up_to = at_least(n, (i + 1.0) / n, m);
    double both = up_to - below;  // that the m-th is sorted[i]; what is left is for both being it
    below = up_to;
    for (int j = i + 1; j < n; ++j) {
      const double chance = ways * part(i + 1) * part(n - j);
      distribution.emplace_back(middle(value, sorted[static_cast<std::size_t>(j)]), chance);
      both -= chance;
    }
    distribution.emplace_back(value, std::max(both, 0.0));
  }
  std::sort(distribution.begin(), distribution.end());
  return distribution;
}

double quantile(const Weighted& distribution, double level) {
  double sum = 0;
  for (const auto& [value, chance] : distribution) {
    sum += chance;
    if (sum >= level - kLevelSlack) return value;
  }
  return distribution.back().first;
}

// Beyond it the n² pairs cost more than the answer is worth: the interval is then that of the upper
// middle value, at most one gap between neighbours away.
constexpr std::size_t kMaxPairs = 100;

}  // namespace

double median(std::vector<double> values) {
  const std::vector<double> sorted = prepared(std::move(values));
  return sorted.empty() ? std::numeric_limits<double>::quiet_NaN() : sorted_median(sorted);
}

Estimate bootstrap_median(std::vector<double> values, double confidence) {
  const std::vector<double> sorted = prepared(std::move(values));
  if (sorted.empty()) return {};
  if (sorted.size() < 3) return {sorted_median(sorted), sorted.front(), sorted.back()};
  const double outside = (1 - confidence) / 2;
  if (sorted.size() % 2 == 0 && sorted.size() <= kMaxPairs) {
    const Weighted distribution = even_distribution(sorted);
    return {sorted_median(sorted), quantile(distribution, outside),
            quantile(distribution, 1 - outside)};
  }
  return {sorted_median(sorted), odd_quantile(sorted, outside), odd_quantile(sorted, 1 - outside)};
}

}  // namespace thalweg::db::analysis
