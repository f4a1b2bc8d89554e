// Are two small samples different? Wilcoxon-Mann-Whitney rank-sum test, exact, ties included;
// Holm's correction.
#pragma once

#include <vector>

namespace thalweg::db::analysis {

/// Two-sided p-value: the share of all ways to deal the pooled ranks (middle ranks for ties) into
/// two samples of these sizes whose rank sum is at least as far from its mean (Lehmann,
/// Nonparametrics, 1975, ch. 1). Exact up to 100 values in all, then by the normal approximation
/// with tie and continuity corrections. Infinities allowed. 1 where a sample is empty.
double rank_sum_test(const std::vector<double>& a, const std::vector<double>& b);

/// The smallest p-value that samples of these sizes can give: 2 / binomial(n + m, n).
double smallest_p(std::size_t n, std::size_t m);

/// Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979): the result at i is
/// p[i] as if it were the only test.
std::vector<double> holm(const std::vector<double>& p);

}  // namespace thalweg::db::analysis
