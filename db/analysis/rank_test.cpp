#include "db/analysis/rank_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace thalweg::db::analysis {
namespace {

constexpr std::size_t kExactUpTo = 100;

/// The ranks of the pooled values, doubled so that middle ranks are whole; the first a.size() are
/// a's.
std::vector<int> doubled_ranks(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> pooled(a);
  pooled.insert(pooled.end(), b.begin(), b.end());
  std::vector<std::size_t> order(pooled.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return pooled[i] < pooled[j]; });
  std::vector<int> ranks(pooled.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && pooled[order[last + 1]] == pooled[order[first]])
      ++last;
    for (std::size_t i = first; i <= last; ++i) {
      ranks[order[i]] = static_cast<int>(first + last + 2);  // twice the mean of first+1 ... last+1
    }
    first = last + 1;
  }
  return ranks;
}

/// Counts the subsets of `size` ranks by their sum: ways[k][s], one rank after the other.
double exact_p(const std::vector<int>& ranks, std::size_t size, int observed) {
  const int total = std::accumulate(ranks.begin(), ranks.end(), 0);
  const auto sums = static_cast<std::size_t>(total) + 1;
  std::vector<std::vector<double>> ways(size + 1, std::vector<double>(sums, 0.0));
  ways[0][0] = 1;
  for (const int rank : ranks) {
    const auto step = static_cast<std::size_t>(rank);
    for (std::size_t k = size; k >= 1; --k) {
      for (std::size_t s = sums; s-- > step;)
        ways[k][s] += ways[k - 1][s - step];
    }
  }
  // The mean of the sum is total * size / n; compared in units of 1/n, so in whole numbers.
  const auto n = static_cast<std::int64_t>(ranks.size());
  const auto distance = [&](std::int64_t sum) {
    return std::abs(sum * n - std::int64_t{total} * static_cast<std::int64_t>(size));
  };
  double extreme = 0, all = 0;
  for (std::size_t s = 0; s < sums; ++s) {
    all += ways[size][s];
    if (distance(static_cast<std::int64_t>(s)) >= distance(observed)) extreme += ways[size][s];
  }
  return extreme / all;
}

double normal_p(const std::vector<int>& ranks, std::size_t size, int observed) {
  const auto n = static_cast<double>(ranks.size());
  const auto m = static_cast<double>(size);
  const double mean_rank = (n + 1) / 2;
  double squares = 0;  // gives the variance with its tie correction at once
  for (const int rank : ranks)
    squares += std::pow(rank / 2.0 - mean_rank, 2);
  const double variance = m * (n - m) / (n * (n - 1)) * squares;
  const double distance = std::abs(observed / 2.0 - m * mean_rank) - 0.5;
  if (variance <= 0 || distance <= 0) return 1;
  return std::erfc(distance / std::sqrt(2 * variance));
}

}  // namespace

double rank_sum_test(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  const std::vector<int> ranks = doubled_ranks(a, b);
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(a.size());
  const int observed = std::accumulate(ranks.begin(), end, 0);
  return ranks.size() <= kExactUpTo ? exact_p(ranks, a.size(), observed)
                                    : normal_p(ranks, a.size(), observed);
}

double smallest_p(std::size_t n, std::size_t m) {
  if (n == 0 || m == 0) return 1;
  const auto a = static_cast<double>(n), b = static_cast<double>(m);
  const double ways = std::exp(std::lgamma(a + b + 1) - std::lgamma(a + 1) - std::lgamma(b + 1));
  return std::min(1.0, 2 / ways);
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> corrected(p.size());
  double so_far = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    so_far = std::max(so_far, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    corrected[order[i]] = so_far;
  }
  return corrected;
}

}  // namespace thalweg::db::analysis
