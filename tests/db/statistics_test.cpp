// Every number here comes from elsewhere: full enumeration, printed tables, other programs'
// documentation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>

#include "db/analysis/bootstrap.h"
#include "db/analysis/improvement.h"
#include "db/analysis/profile.h"
#include "db/analysis/rank_test.h"
#include "db/analysis/statistic.h"

namespace thalweg::db::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Bootstrap, MedianTakesTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({1, kInfinity, kInfinity}), kInfinity);
  EXPECT_EQ(median({1, 2, kInfinity}), 2);
  EXPECT_EQ(median({1, kInfinity}), kInfinity);
  EXPECT_EQ(median({std::nan(""), 7}), 7);
  EXPECT_TRUE(std::isnan(median({})));
}

/// All n^n resamples, each as likely: the smallest median whose share of resamples at or below it
/// is >= level.
double enumerated_quantile(const std::vector<double>& values, double level) {
  const std::size_t n = values.size();
  std::map<double, std::uint64_t> counts;
  std::uint64_t total = 1;
  for (std::size_t i = 0; i < n; ++i)
    total *= n;
  for (std::uint64_t code = 0; code < total; ++code) {
    std::vector<double> sample;
    for (std::uint64_t rest = code, i = 0; i < n; ++i, rest /= n) {
      sample.push_back(values[rest % n]);
    }
    std::sort(sample.begin(), sample.end());
    ++counts[n % 2 == 1 ? sample[n / 2] : (sample[n / 2 - 1] + sample[n / 2]) / 2];
  }
  std::uint64_t sum = 0;
  for (const auto& [value, count] : counts) {
    sum += count;
    if (static_cast<double>(sum) >= level * static_cast<double>(total)) return value;
  }
  return kInfinity;
}

TEST(Bootstrap, EqualsTheEnumerationOfAllResamples) {
  const std::vector<double> values{0.31, 0.12, 0.95, 0.44, 0.70, 0.58, 0.12};
  for (std::size_t n = 3; n <= 6; ++n) {
    const std::vector<double> sample(values.begin(),
                                     values.begin() + static_cast<std::ptrdiff_t>(n));
    for (const double confidence : {0.5, 0.8, 0.9, 0.95, 0.99}) {
      const Estimate found = bootstrap_median(sample, confidence);
      EXPECT_DOUBLE_EQ(found.low, enumerated_quantile(sample, (1 - confidence) / 2))
          << n << " " << confidence;
      EXPECT_DOUBLE_EQ(found.high, enumerated_quantile(sample, 1 - (1 - confidence) / 2))
          << n << " " << confidence;
    }
  }
}

TEST(Bootstrap, FewerThanThreeGiveTheRange) {
  const Estimate two = bootstrap_median({5, 3});
  EXPECT_EQ(two.median, 4);
  EXPECT_EQ(two.low, 3);
  EXPECT_EQ(two.high, 5);
  const Estimate one = bootstrap_median({5});
  EXPECT_EQ(one.low, 5);
  EXPECT_EQ(one.high, 5);
  EXPECT_TRUE(std::isnan(bootstrap_median({}).median));
}

TEST(Bootstrap, MissedTargetsStayMissed) {
  const Estimate found = bootstrap_median({10, 20, kInfinity, kInfinity, 15});
  EXPECT_EQ(found.median, 20);
  EXPECT_EQ(found.low, 10);
  EXPECT_EQ(found.high, kInfinity);
}

TEST(Bootstrap, LargeSamplesNarrowAroundTheMedian) {
  for (const int n : {99, 100, 401, 402, 5001}) {
    std::vector<double> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 1.0);
    const Estimate found = bootstrap_median(values);
    // Order statistics of the normal approximation: n/2 -+ 1.96 sqrt(n)/2.
    EXPECT_NEAR(found.low, n / 2.0 - 0.98 * std::sqrt(n), 1.5) << n;
    EXPECT_NEAR(found.high, n / 2.0 + 0.98 * std::sqrt(n), 1.5) << n;
  }
}

TEST(RankTest, AgreesWithScipysDocumentedExample) {
  // scipy.stats.mannwhitneyu, documentation: ages at diagnosis, U = 17, exact two-sided p =
  // 0.1111111111111111.
  EXPECT_NEAR(rank_sum_test({19, 22, 16, 29, 24}, {20, 11, 17, 12}), 1.0 / 9, 1e-12);
}

/// 1 ... 2n dealt to two samples of n so that the first has Mann-Whitney's U = u.
double p_of_u(int n, int u) {
  std::vector<double> a, b;
  int left = u;
  std::vector<bool> taken(static_cast<std::size_t>(2 * n + 1), false);
  for (int i = n; i >= 1; --i) {
    const int shift = std::min(left, n);
    left -= shift;
    taken[static_cast<std::size_t>(i + shift)] = true;
  }
  for (int i = 1; i <= 2 * n; ++i)
    (taken[static_cast<std::size_t>(i)] ? a : b).push_back(i);
  return rank_sum_test(a, b);
}

TEST(RankTest, AgreesWithThePrintedCriticalValues) {
  // Two-tailed 5 % table of Mann and Whitney's U for equal sizes n, in every statistics textbook.
  const std::map<int, int> critical{{4, 0}, {5, 2}, {6, 5}, {7, 8}, {8, 13}, {9, 17}, {10, 23}};
  for (const auto& [n, u] : critical) {
    EXPECT_LE(p_of_u(n, u), 0.05) << n;
    EXPECT_GT(p_of_u(n, u + 1), 0.05) << n;
  }
  EXPECT_GT(p_of_u(3, 0), 0.05);
}

TEST(RankTest, TiesEqualTheEnumeration) {
  const std::vector<double> a{1, 2, 2, kInfinity}, b{2, 3, kInfinity, kInfinity, 5};
  // Middle ranks of the pooled values, by hand: 1 | 2 2 2 | 3 | 5 | inf inf inf.
  const std::vector<double> ranks{1, 3, 3, 8, 3, 5, 8, 8, 6};
  const double observed = 1 + 3 + 3 + 8, mean = 45.0 * 4 / 9;
  int extreme = 0, all = 0;
  for (int mask = 0; mask < 512; ++mask) {
    if (__builtin_popcount(static_cast<unsigned>(mask)) != 4) continue;
    double sum = 0;
    for (std::size_t i = 0; i < 9; ++i)
      sum += (mask >> i & 1) != 0 ? ranks[i] : 0;
    ++all;
    if (std::abs(sum - mean) >= std::abs(observed - mean) - 1e-9) ++extreme;
  }
  EXPECT_NEAR(rank_sum_test(a, b), static_cast<double>(extreme) / all, 1e-12);
  EXPECT_EQ(rank_sum_test({1, 1, 1}, {1, 1, 1, 1}), 1);
}

TEST(RankTest, IsSymmetricAndSpeaksOnlyOfOrder) {
  const std::vector<double> a{1, 4, 6, 9}, b{2, 3, 10, 12, 13};
  EXPECT_NEAR(rank_sum_test(a, b), rank_sum_test(b, a), 1e-12);
  EXPECT_NEAR(rank_sum_test(a, b),
              rank_sum_test({0.1, 0.4, 0.6, 0.9}, {0.2, 0.3, 1.0, 1.2, kInfinity}), 1e-12);
  EXPECT_EQ(rank_sum_test({}, {1}), 1);
}

/// Mann and Whitney's recurrence (1947): ways to get U = u with sizes n and m, no ties.
std::vector<double> counts_of_u(std::size_t n, std::size_t m) {
  std::vector<std::vector<std::vector<double>>> f(n + 1, std::vector<std::vector<double>>(m + 1));
  for (std::size_t i = 0; i <= n; ++i) {
    for (std::size_t j = 0; j <= m; ++j) {
      f[i][j].assign(i * j + 1, 0);
      if (i == 0 || j == 0) {
        f[i][j][0] = 1;
        continue;
      }
      for (std::size_t u = 0; u <= i * j; ++u) {
        if (u >= j && u - j < f[i - 1][j].size()) f[i][j][u] += f[i - 1][j][u - j];
        if (u < f[i][j - 1].size()) f[i][j][u] += f[i][j - 1][u];
      }
    }
  }
  return f[n][m];
}

TEST(RankTest, NormalApproximationIsCloseBeyondTheExactSizes) {
  const int n = 55;
  const std::vector<double> counts = counts_of_u(n, n);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (const int u : {900, 1100, 1250, 1400}) {
    const double tail = std::accumulate(counts.begin(), counts.begin() + u + 1, 0.0);
    EXPECT_NEAR(p_of_u(n, u), 2 * tail / all, 2e-3) << u;
  }
}

TEST(RankTest, SmallestPossibleValue) {
  EXPECT_NEAR(smallest_p(4, 4), 2.0 / 70, 1e-12);
  EXPECT_NEAR(smallest_p(3, 3), 0.1, 1e-12);
  EXPECT_EQ(smallest_p(1, 1), 1);
  EXPECT_NEAR(p_of_u(4, 0), smallest_p(4, 4), 1e-12);
}

/// Every way to deal each block's values to the two samples, of aligned ranks given by hand.
double enumerated(const std::vector<std::pair<std::vector<double>, std::size_t>>& blocks) {
  std::vector<double> sums{0};
  double mean = 0, observed = 0;
  for (const auto& [ranks, size] : blocks) {
    std::vector<double> next;
    for (unsigned mask = 0; mask < (1u << ranks.size()); ++mask) {
      if (static_cast<std::size_t>(__builtin_popcount(mask)) != size) continue;
      double sum = 0;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        sum += (mask >> i & 1) != 0 ? ranks[i] : 0;
      for (const double before : sums)
        next.push_back(before + sum);
    }
    sums = next;
    const double total = std::accumulate(ranks.begin(), ranks.end(), 0.0);
    mean += total * static_cast<double>(size) / static_cast<double>(ranks.size());
    observed +=
        std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(size), 0.0);
  }
  const auto extreme = std::count_if(sums.begin(), sums.end(), [&](double sum) {
    return std::abs(sum - mean) >= std::abs(observed - mean) - 1e-9;
  });
  return static_cast<double>(extreme) / static_cast<double>(sums.size());
}

TEST(RankTest, BlocksEqualTheEnumeration) {
  // Differences 1, -2, 3, 4 of pairs: aligned values -+d/2, ranked -2 -1.5 -1 -.5 .5 1 1.5 2.
  const RankTest pairs =
      blocked_rank_test({{{1}, {2}}, {{12}, {10}}, {{100}, {103}}, {{1000}, {1004}}});
  EXPECT_NEAR(pairs.p, enumerated({{{4, 5}, 1}, {{6, 3}, 1}, {{2, 7}, 1}, {{1, 8}, 1}}), 1e-12);
  EXPECT_EQ(pairs.direction, -1);
  EXPECT_NEAR(pairs.smallest, 2.0 / 16, 1e-12);
  // Unequal blocks with ties and misses. The medians 2 and 20 are subtracted:
  // a {0, 1}, b {-1, inf | finite median of 2 3 1 is 2}; a {0}, b {-1, 1}.
  const RankTest uneven = blocked_rank_test({{{2, 3}, {1, kInfinity}}, {{20}, {19, 21}}});
  // -1 -1 | 0 0 | 1 1 | inf: middle ranks 1.5, 3.5, 5.5, 7.
  EXPECT_NEAR(uneven.p, enumerated({{{3.5, 5.5, 1.5, 7}, 2}, {{3.5, 1.5, 5.5}, 1}}), 1e-12);
  // Misses in all of a block say nothing; neither does a block of one sample.
  EXPECT_EQ(blocked_rank_test({{{kInfinity}, {kInfinity}}, {{kInfinity}, {kInfinity}}}).p, 1);
  EXPECT_EQ(blocked_rank_test({{{1, 2}, {}}, {{}, {3}}}).p, 1);
}

TEST(RankTest, BlocksTakeAwayWhatTheyShare) {
  // Large differences between blocks, the same small one in each: nothing without blocks.
  std::vector<Block> blocks;
  Block pooled;
  for (int i = 0; i < 7; ++i) {
    blocks.push_back({{10.0 * i}, {10.0 * i + 1 + 0.1 * i}});
    pooled.a.push_back(blocks.back().a[0]);
    pooled.b.push_back(blocks.back().b[0]);
  }
  EXPECT_NEAR(blocked_rank_test(blocks).p, 2.0 / 128, 1e-12);
  EXPECT_GT(blocked_rank_test({pooled}).p, 0.5);
}

TEST(RankTest, ManyBlocksByTheNormalApproximationAreCloseToTheExactOnes) {
  std::vector<Block> exact, approximate;
  for (int i = 0; i < 50; ++i) {
    const double difference = (i % 3 == 0 ? -1 : 1) * (1 + 0.01 * i);
    exact.push_back({{0}, {difference}});
    approximate.push_back(exact.back());
  }
  approximate.push_back({{0}, {0}});  // one more pair, without a difference: 102 values
  EXPECT_NEAR(blocked_rank_test(approximate).p, blocked_rank_test(exact).p, 2e-3);
}

/// The most pairs that can be alike among `rows` rows where the first is alike to at least one
/// other and differs from the last `apart`: over all ways to part the rows into classes of alike
/// ones.
std::size_t max_alike(std::size_t rows, std::size_t apart) {
  std::size_t most = 0;
  std::vector<std::size_t> classes(rows, 0);
  const std::function<void(std::size_t, std::size_t)> part = [&](std::size_t row,
                                                                 std::size_t used) {
    if (row < rows) {
      for (classes[row] = 0; classes[row] <= used; ++classes[row])
        part(row + 1, std::max(used, classes[row] + 1));
      return;
    }
    for (std::size_t i = rows - apart; i < rows; ++i)
      if (classes[i] == classes[0]) return;
    if (std::count(classes.begin(), classes.end(), classes[0]) < 2) return;
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < rows; ++i)
      pairs += static_cast<std::size_t>(std::count(
          classes.begin() + static_cast<std::ptrdiff_t>(i) + 1, classes.end(), classes[i]));
    most = std::max(most, pairs);
  };
  part(1, 1);
  return most;
}

TEST(RankTest, TheBestRowIsCorrectedForAllPairsThatCanBeAlike) {
  for (std::size_t rows = 2; rows <= 7; ++rows) {
    std::vector<double> p;
    for (std::size_t i = 1; i < rows; ++i)
      p.push_back(1e-6 * std::pow(100.0, static_cast<double>(i)) / 1e8);  // far apart: no maxima
    const std::vector<double> corrected = correct_for_best(p, rows, pairs_of(rows));
    for (std::size_t i = 0; i + 1 < rows; ++i)
      EXPECT_NEAR(corrected[i] / p[i], static_cast<double>(max_alike(rows, i)), 1e-9)
          << rows << " " << i;
  }
  // Shaffer's table for 5 means begins with 10 and 6.
  EXPECT_EQ(max_alike(5, 0), 10u);
  EXPECT_EQ(max_alike(5, 1), 6u);
  // Only as many as could be tested; never above 1, never below a smaller one's.
  EXPECT_EQ(correct_for_best({0.01, 0.02}, 3, 1), (std::vector<double>{0.01, 0.02}));
  EXPECT_EQ(correct_for_best({0.9, 0.8}, 3, 3), (std::vector<double>{1, 1}));
  EXPECT_EQ(correct_for_best({0.03, 0.01}, 3, 3), (std::vector<double>{0.03, 0.03}));
}

TEST(Profile, ClosedForm) {
  const auto scores = profile_scores({{1, 2}, {2, 1}});
  EXPECT_NEAR(scores[0], 0.833333, 1e-6);
  EXPECT_NEAR(scores[1], 0.833333, 1e-6);
  EXPECT_EQ(profile_scores({{1, 1}, {4, kInfinity}}), (std::vector<double>{1, 0}));
  EXPECT_EQ(profile_scores({{kInfinity}}), (std::vector<double>{0}));
}

TEST(Profile, IsTheAreaUnderTheProfile) {
  const Times ratios = ratios_to_best({{1, 3, 2}, {2, 2, 2}, {9, 2.5, kInfinity}});
  const auto scores = profile_scores({{1, 3, 2}, {2, 2, 2}, {9, 2.5, kInfinity}});
  for (std::size_t s = 0; s < 3; ++s) {
    const int parts = 300000;
    double area = 0;
    for (int i = 0; i < parts; ++i)
      area += profile_at(ratios[s], 1 + 3 * (i + 0.5) / parts);
    EXPECT_NEAR(scores[s], area / parts, 1e-5);
  }
}

/// Held-out workloads (columns 8 on) belong to these base workloads (columns 0-7).
constexpr std::size_t kBaseOf[] = {0, 1, 2, 4, 6, 7};

TEST(Profile, AlgoPerfsPublishedScores) {
  std::ifstream file(std::string(THALWEG_SOURCE_DIR) + "/tests/db/data/algoperf_v05_external.csv");
  ASSERT_TRUE(file);
  std::string line;
  std::getline(file, line);  // where it is from
  std::getline(file, line);  // names
  Times times;
  std::vector<double> published;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, ',');
    std::vector<double> row;
    while (std::getline(cells, cell, ','))
      row.push_back(cell.empty() ? kInfinity : std::stod(cell));
    published.push_back(row.back());
    row.pop_back();
    ASSERT_EQ(row.size(), 14u);
    times.push_back(row);
  }
  ASSERT_EQ(times.size(), 11u);
  std::vector<HeldOut> held_out;
  for (std::size_t h = 0; h < 6; ++h)
    held_out.push_back({8 + h, kBaseOf[h]});
  times = competition_times(std::move(times), held_out);
  ASSERT_EQ(times.front().size(), 8u);
  const auto scores = profile_scores(times), theirs = profile_scores_trapezoid(times);
  for (std::size_t s = 0; s < scores.size(); ++s) {
    EXPECT_NEAR(theirs[s], published[s], 0.00005) << "row " << s;  // 4 decimals
    EXPECT_NEAR(scores[s], published[s], 0.002) << "row " << s;    // in closed form
  }
}

TEST(Profile, AHeldOutWorkloadOnlyConfirms) {
  // Two workloads, the second with a variant. The second submission misses the variant, the third
  // takes more than 4 times the best.
  const Times times = competition_times({{1, 1, 1}, {1, 1, kInfinity}, {5, 1, 1}}, {{2, 1}});
  EXPECT_EQ(times, (Times{{1, 1}, {1, kInfinity}, {kInfinity, 1}}));
}

TEST(Statistic, MeansHaveStudentsInterval) {
  // t at 97.5 % with 4 degrees of freedom is 2.7764451 (Student's table).
  const Estimate five = student_mean({1, 2, 3, 4, 5});
  EXPECT_EQ(five.median, 3);
  EXPECT_NEAR(five.high - 3, 2.7764451052 * std::sqrt(2.5 / 5), 1e-9);
  EXPECT_NEAR(3 - five.low, five.high - 3, 1e-12);
  const Estimate four = estimate(Statistic::mean, {0.31, 0.12, std::nan(""), 0.95, 0.44});
  EXPECT_NEAR(four.low, -0.11020162758948293, 1e-12);  // SciPy 1.10
  EXPECT_NEAR(four.high, 1.0202016275894827, 1e-12);
  EXPECT_TRUE(std::isnan(student_mean({2}).low));
  EXPECT_EQ(estimate(Statistic::mean, {1, kInfinity}).median, kInfinity);
  EXPECT_TRUE(std::isnan(estimate(Statistic::mean, {1, kInfinity}).low));
  EXPECT_TRUE(std::isnan(estimate(Statistic::mean, {}).median));
}

TEST(Statistic, TheBestDependsOnTheGoal) {
  EXPECT_EQ(estimate(Statistic::best, {3, 1, 2}).median, 1);
  EXPECT_EQ(estimate(Statistic::best, {3, 1, 2}, true).median, 3);
  EXPECT_EQ(point_estimate(Statistic::best, {3, std::nan(""), 2}, true), 3);
  EXPECT_TRUE(std::isnan(point_estimate(Statistic::best, {}, true)));
  for (const Statistic each : {Statistic::median, Statistic::mean, Statistic::best})
    EXPECT_EQ(find_statistic(name_of(each)), each);
  EXPECT_EQ(find_statistic("mode"), std::nullopt);
}

void expect_improvement(const std::vector<Block>& blocks, double p, double low, double high) {
  const Estimate found = probability_of_improvement(blocks);
  EXPECT_NEAR(found.median, p, 1e-12);
  EXPECT_NEAR(found.low, low, 1e-6);
  EXPECT_NEAR(found.high, high, 1e-6);
}

TEST(Improvement, IsTheShareOfPairsWithNewcombesInterval) {
  // Intervals by SciPy's root finder over the formula.
  expect_improvement({{{5, 6, 7, 8}, {1, 2, 6.5, 3}}}, 0.875, 0.4528270570, 0.9811701332);
  expect_improvement({{{1, 2, 3}, {2, 3}}, {{10, 20}, {15}}}, 0.375, 0.1015489224, 0.7662011720);
  EXPECT_TRUE(std::isnan(probability_of_improvement({}).median));
  EXPECT_TRUE(std::isnan(probability_of_improvement({{{1}, {}}}).median));
}

TEST(Improvement, OfSinglePairsHasWilsonsInterval) {
  std::vector<Block> blocks(8, Block{{1}, {0}});
  blocks.resize(10, Block{{0}, {1}});
  expect_improvement(blocks, 0.8, 0.4901624715, 0.9433178485);  // Wilson's of 8 in 10
  const double z = 1.959963984540054;
  expect_improvement(std::vector<Block>(5, Block{{1}, {0}}), 1, 5 / (5 + z * z), 1);
}

}  // namespace
}  // namespace thalweg::db::analysis
