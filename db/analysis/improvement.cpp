#include "db/analysis/improvement.h"

#include <algorithm>
#include <cmath>

namespace thalweg::db::analysis {
namespace {

constexpr double kNormal = 1.959963984540054;  // quantile of the normal distribution at 97.5 %

/// Pairs in which b's value is the smaller one; ties count half. By bisection in the sorted b:
/// samples may be large.
double smaller_in_b(const Block& block) {
  std::vector<double> b = block.b;
  std::sort(b.begin(), b.end());
  double count = 0;
  for (const double value : block.a) {
    const auto [first, last] = std::equal_range(b.begin(), b.end(), value);
    count += static_cast<double>(first - b.begin()) + static_cast<double>(last - first) / 2;
  }
  return count;
}

/// Hanley and McNeil's variance of the share where the true one is `p`, with both samples' sizes
/// replaced by their mean in the terms of the dependence (Newcombe's method 5).
double variance(const std::vector<Block>& blocks, double pairs, double p) {
  const double dependence = (1 - p) / (2 - p) + p / (1 + p);
  double sum = 0;
  for (const Block& block : blocks) {
    const auto m = static_cast<double>(block.a.size()), n = static_cast<double>(block.b.size());
    sum += m * n * (1 + ((m + n) / 2 - 1) * dependence);
  }
  return p * (1 - p) * sum / (pairs * pairs);
}

/// The true share furthest from the observed one, on the side of `end`, that the data still allow.
double limit(const std::vector<Block>& blocks, double pairs, double observed, double end) {
  double inside = observed, outside = end;
  for (int i = 0; i < 60; ++i) {
    const double p = (inside + outside) / 2;
    const bool allowed = std::abs(p - observed) <= kNormal * std::sqrt(variance(blocks, pairs, p));
    (allowed ? inside : outside) = p;
  }
  return inside;
}

}  // namespace

Estimate probability_of_improvement(const std::vector<Block>& blocks) {
  double pairs = 0, smaller = 0;
  for (const Block& block : blocks) {
    pairs += static_cast<double>(block.a.size()) * static_cast<double>(block.b.size());
    smaller += smaller_in_b(block);
  }
  if (pairs == 0) return {};
  const double observed = smaller / pairs;
  return {observed, limit(blocks, pairs, observed, 0), limit(blocks, pairs, observed, 1)};
}

}  // namespace thalweg::db::analysis
