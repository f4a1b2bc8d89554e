// Are two small samples different? Exact rank tests, in blocks where the samples share settings,
// and the correction for comparing every row with a best one that the same data picked.
#pragma once

#include <cstddef>
#include <vector>

namespace thalweg::db::analysis {

/// Values of two samples whose members differ in nothing but what is tested.
struct Block {
  std::vector<double> a, b;  ///< infinities allowed, no NaN
};

struct RankTest {
  double p = 1;         ///< two-sided; never below `smallest`
  double smallest = 1;  ///< the smallest p that blocks of these sizes can give
  int direction = 0;    ///< 1: a's values are the larger ones, -1: b's, 0: neither
};

/// The permutation test of the rank sum of aligned values (Hodges & Lehmann, Annals of Mathematical
/// Statistics 33, 1962): each block's median is subtracted from its values, the values of all
/// blocks are ranked together (middle ranks for ties), and the sum of a's ranks is compared with
/// all ways to deal the ranks of each block to a and b. One block: Wilcoxon, Mann and Whitney's
/// test (Lehmann, Nonparametrics, 1975, ch. 1). One value of each sample in every block: the
/// signed-rank test. Exact up to 100 values in all, then by the normal approximation with tie and
/// continuity corrections. Blocks without values of both samples say nothing.
RankTest blocked_rank_test(const std::vector<Block>& blocks);

/// Wilcoxon's signed-rank test of differences between paired values (Biometrics Bulletin 1, 1945):
/// the ranks of their sizes, middle ranks for ties, summed with all ways to choose the signs.
/// Differences of 0 are ranked and have no sign (Pratt, JASA 54, 1959). Infinities allowed, no NaN.
/// direction 1: most rank is with positive ones. Exact up to 100 differences, then by the normal
/// approximation.
RankTest signed_rank_test(const std::vector<double>& differences);

/// Brunner and Munzel's test of P(a < b) = P(a > b) (Biometrical Journal 42, 2000), which holds
/// also where one sample spreads more than the other; there the rank sum claims too much, most
/// where the larger sample has the smaller spread. By Student's t of that probability's arcsine
/// (delta method): without it the test claims 7 % at 5 % for 8 values each, one sample with 8 times
/// the spread; with its logit half of the power is lost. 0 where the samples do not overlap, of
/// several blocks, or of less than two values of a sample: then the exact test decides alone.
double unequal_spread_p(const std::vector<Block>& blocks);

/// blocked_rank_test() over one block: its p.
double rank_sum_test(const std::vector<double>& a, const std::vector<double>& b);

/// 2 / binomial(n + m, n): the smallest p-value of one block of these sizes, at most 1.
double smallest_p(std::size_t n, std::size_t m);
/// The same of several blocks: 2 over the number of ways to deal them.
double smallest_p(const std::vector<Block>& blocks);

/// 2 / 2^n: the smallest p-value of the signed-rank test of n differences, at most 1.
double smallest_signed_p(std::size_t n);

/// p-values of `rows` - 1 or fewer rows, each against the best row, corrected for `pairs`, the
/// number of pairs of rows for which a test could have said anything: which row is the best was
/// read from the same values, so any pair might have been tested. Bonferroni for the smallest p,
/// then Shaffer's step-down (Journal of the American Statistical Association 81, 1986): once the
/// best row differs from s - 1 others, at most max(1 + C(rows - 2, 2), C(rows - s + 1, 2) + C(s -
/// 1, 2)) pairs can still be alike.
std::vector<double> correct_for_best(const std::vector<double>& p, std::size_t rows,
                                     std::size_t pairs);

/// The factor for the smallest of them: C(rows, 2).
std::size_t pairs_of(std::size_t rows);

}  // namespace thalweg::db::analysis
