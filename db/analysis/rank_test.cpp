// Exact distributions are counted one block after the other: the ways to deal a block's ranks to
// the two samples by their sum, then the sums of all blocks added up. Ranks are kept as whole
// numbers (twice the rank), so that sums are indices and equal sums are equal.
#include "db/analysis/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "db/analysis/students_t.h"

namespace thalweg::db::analysis {
namespace {

constexpr std::size_t kExactUpTo = 100;
// The mean is a sum of fractions with small denominators; sums of ranks are whole numbers.
constexpr double kRankSlack = 1e-6;

/// A block's ranks, those of the first `size` of which belong to sample a.
struct Ranked {
  std::vector<int> ranks;
  std::size_t size = 0;

  double mean_sum() const {
    return std::accumulate(ranks.begin(), ranks.end(), 0.0) * static_cast<double>(size) /
           static_cast<double>(ranks.size());
  }
  int observed() const {
    return std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(size), 0);
  }
};

/// Of the value among these, sorted, one of which it is.
double middle_rank(const std::vector<double>& sorted, double value) {
  const auto [first, end] = std::equal_range(sorted.begin(), sorted.end(), value);
  return static_cast<double>((first - sorted.begin()) + (end - sorted.begin()) + 1) / 2;
}

/// Less the median of the finite ones.
void align(std::vector<double>& values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  if (finite.empty()) return;
  std::sort(finite.begin(), finite.end());
  const double low = finite[(finite.size() - 1) / 2], high = finite[finite.size() / 2];
  const double center = low + (high - low) / 2;
  for (double& value : values)
    value -= center;
}

/// From 2, doubled so that middle ranks are whole.
std::vector<int> doubled_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<int> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]])
      ++last;
    for (std::size_t i = first; i <= last; ++i)
      ranks[order[i]] = static_cast<int>(first + last + 2);  // twice the mean of first+1 ... last+1
    first = last + 1;
  }
  return ranks;
}

/// Ranks over all blocks together.
std::vector<Ranked> ranked(const std::vector<Block>& blocks) {
  std::vector<Ranked> result;
  std::vector<double> pooled;
  for (const Block& block : blocks) {
    if (block.a.empty() || block.b.empty()) continue;
    std::vector<double> values(block.a);
    values.insert(values.end(), block.b.begin(), block.b.end());
    if (blocks.size() > 1) align(values);
    pooled.insert(pooled.end(), values.begin(), values.end());
    result.push_back({std::vector<int>(values.size()), block.a.size()});
  }
  const std::vector<int> ranks = doubled_ranks(pooled);
  auto next = ranks.begin();
  for (Ranked& block : result) {
    std::copy_n(next, block.ranks.size(), block.ranks.begin());
    next += static_cast<std::ptrdiff_t>(block.ranks.size());
  }
  return result;
}

/// Ways to get each sum; the sum of the first entry is `first`.
struct Ways {
  int first = 0;
  std::vector<double> counts;
};

/// Of `size` of the ranks, whichever.
Ways ways_of(const std::vector<int>& ranks, std::size_t size) {
  const int least = *std::min_element(ranks.begin(), ranks.end());
  std::vector<int> above(ranks);  // the least rank as 0 keeps the sums few
  for (int& rank : above)
    rank -= least;
  std::sort(above.begin(), above.end());
  const auto sums = static_cast<std::size_t>(std::accumulate(
                        above.end() - static_cast<std::ptrdiff_t>(size), above.end(), 0)) +
                    1;
  std::vector<std::vector<double>> ways(size + 1, std::vector<double>(sums, 0.0));
  ways[0][0] = 1;
  std::size_t taken = 0;
  for (const int rank : above) {
    const auto step = static_cast<std::size_t>(rank);
    ++taken;
    for (std::size_t k = std::min(size, taken); k >= 1; --k) {
      for (std::size_t s = sums; s-- > step;)
        ways[k][s] += ways[k - 1][s - step];
    }
  }
  return {least * static_cast<int>(size), std::move(ways[size])};
}

Ways convolved(const Ways& a, const Ways& b) {
  Ways sum{a.first + b.first, std::vector<double>(a.counts.size() + b.counts.size() - 1, 0.0)};
  for (std::size_t j = 0; j < b.counts.size(); ++j) {
    if (b.counts[j] == 0) continue;
    for (std::size_t i = 0; i < a.counts.size(); ++i)
      sum.counts[i + j] += a.counts[i] * b.counts[j];
  }
  return sum;
}

double exact_p(const std::vector<Ranked>& blocks, double mean, double observed) {
  Ways all{0, {1.0}};
  for (const Ranked& block : blocks)
    all = convolved(all, ways_of(block.ranks, block.size));
  const double distance = std::abs(observed - mean) - kRankSlack;
  double extreme = 0, total = 0;
  for (std::size_t i = 0; i < all.counts.size(); ++i) {
    total += all.counts[i];
    if (std::abs(all.first + static_cast<double>(i) - mean) >= distance) extreme += all.counts[i];
  }
  return extreme / total;
}

double normal_p(const std::vector<Ranked>& blocks, double mean, double observed) {
  double variance = 0;  // with its tie correction
  for (const Ranked& block : blocks) {
    const auto n = static_cast<double>(block.ranks.size()), m = static_cast<double>(block.size);
    const double middle = std::accumulate(block.ranks.begin(), block.ranks.end(), 0.0) / n;
    double squares = 0;
    for (const int rank : block.ranks)
      squares += std::pow(rank - middle, 2);
    variance += m * (n - m) / (n * (n - 1)) * squares;
  }
  const double distance = std::abs(observed - mean) - 1;  // half a rank, in doubled ranks
  if (variance <= 0 || distance <= 0) return 1;
  return std::erfc(distance / std::sqrt(2 * variance));
}

/// Probability of each sum of doubled ranks whose signs are +, the others' being -.
std::vector<double> signed_sums(const std::vector<int>& ranks) {
  std::vector<double> chances{1.0};
  for (const int rank : ranks) {
    std::vector<double> next(chances.size() + static_cast<std::size_t>(rank), 0.0);
    for (std::size_t i = 0; i < chances.size(); ++i) {
      next[i] += chances[i] / 2;
      next[i + static_cast<std::size_t>(rank)] += chances[i] / 2;
    }
    chances = std::move(next);
  }
  return chances;
}

double log_ways(std::size_t n, std::size_t m) {
  const auto a = static_cast<double>(n), b = static_cast<double>(m);
  return std::lgamma(a + b + 1) - std::lgamma(a + 1) - std::lgamma(b + 1);
}

}  // namespace

RankTest blocked_rank_test(const std::vector<Block>& blocks) {
  const std::vector<Ranked> all = ranked(blocks);
  RankTest test;
  if (all.empty()) return test;
  std::size_t values = 0;
  double mean = 0, observed = 0;
  for (const Ranked& block : all) {
    values += block.ranks.size();
    mean += block.mean_sum();
    observed += block.observed();
  }
  test.smallest = smallest_p(blocks);
  const double p =
      values <= kExactUpTo ? exact_p(all, mean, observed) : normal_p(all, mean, observed);
  test.p = std::max(p, test.smallest);
  test.direction = observed > mean + kRankSlack ? 1 : observed < mean - kRankSlack ? -1 : 0;
  return test;
}

RankTest signed_rank_test(const std::vector<double>& differences) {
  std::vector<double> sizes;
  for (const double difference : differences)
    sizes.push_back(std::abs(difference));
  const std::vector<int> of_all = doubled_ranks(sizes);
  std::vector<int> ranks;  // of those with a sign
  int positive = 0, sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) continue;
    ranks.push_back(of_all[i]);
    sum += of_all[i];
    squares += std::pow(of_all[i], 2);
    if (differences[i] > 0) positive += of_all[i];
  }
  RankTest test;
  test.smallest = smallest_signed_p(differences.size());
  const int distance = std::abs(2 * positive - sum);  // from the mean, doubled once more
  if (ranks.empty() || distance == 0) return test;
  test.direction = 2 * positive > sum ? 1 : -1;
  double p = 0;
  if (ranks.size() <= kExactUpTo) {
    const std::vector<double> chances = signed_sums(ranks);
    for (std::size_t i = 0; i < chances.size(); ++i)
      if (std::abs(2 * static_cast<int>(i) - sum) >= distance) p += chances[i];
  } else {
    p = std::erfc((distance - 2) / std::sqrt(2 * squares));  // continuity: half a rank
  }
  test.p = std::max(p, test.smallest);
  return test;
}

double unequal_spread_p(const std::vector<Block>& blocks) {
  if (blocks.size() != 1) return 0;
  std::vector<double> samples[] = {blocks[0].a, blocks[0].b};
  if (samples[0].size() < 2 || samples[1].size() < 2) return 0;
  std::vector<double> all(samples[0]);
  all.insert(all.end(), samples[1].begin(), samples[1].end());
  for (std::vector<double>* values : {&samples[0], &samples[1], &all})
    std::sort(values->begin(), values->end());
  double mean[2], spread[2];  // of places among the other sample's values; n times the variance
  for (int s = 0; s < 2; ++s) {
    const auto n = static_cast<double>(samples[s].size());
    std::vector<double> places;
    for (const double value : samples[s])
      places.push_back(middle_rank(all, value) - middle_rank(samples[s], value));
    mean[s] = std::accumulate(places.begin(), places.end(), 0.0) / n;
    double squares = 0;
    for (const double place : places)
      squares += (place - mean[s]) * (place - mean[s]);
    spread[s] = n * squares / (n - 1);
  }
  const auto n = static_cast<double>(samples[0].size()), m = static_cast<double>(samples[1].size());
  const double both = spread[0] + spread[1];
  const double better = mean[1] / n;  // P(a < b), half of P(a = b) with it
  if (both == 0 || better <= 0 || better >= 1) return better == 0.5 ? 1 : 0;
  const double deviation = std::sqrt(both) / (n * m);  // of `better`
  const double angle = std::asin(std::sqrt(better)) - std::asin(std::sqrt(0.5));
  const double t = 2 * angle * std::sqrt(better * (1 - better)) / deviation;
  const double freedom =
      both * both / (spread[0] * spread[0] / (n - 1) + spread[1] * spread[1] / (m - 1));
  return students_t_two_sided(t, freedom);
}

double rank_sum_test(const std::vector<double>& a, const std::vector<double>& b) {
  return blocked_rank_test({{a, b}}).p;
}

double smallest_p(std::size_t n, std::size_t m) {
  return n == 0 || m == 0 ? 1 : std::min(1.0, 2 * std::exp(-log_ways(n, m)));
}

double smallest_p(const std::vector<Block>& blocks) {
  double logarithm = 0;
  for (const Block& block : blocks)
    logarithm += log_ways(block.a.size(), block.b.size());
  return std::min(1.0, 2 * std::exp(-logarithm));
}

double smallest_signed_p(std::size_t n) {
  return std::min(1.0, std::exp2(1 - static_cast<double>(n)));
}

std::size_t pairs_of(std::size_t rows) {
  return rows < 2 ? 0 : rows * (rows - 1) / 2;
}

std::vector<double> correct_for_best(const std::vector<double>& p, std::size_t rows,
                                     std::size_t pairs) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> corrected(p.size());
  double so_far = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t alike =
        i == 0 ? pairs_of(rows)
               : std::max(1 + pairs_of(rows - 2), pairs_of(rows - i) + pairs_of(i));
    const auto factor = static_cast<double>(std::min(pairs, alike));
    so_far = std::max(so_far, std::min(1.0, p[order[i]] * factor));
    corrected[order[i]] = so_far;
  }
  return corrected;
}

}  // namespace thalweg::db::analysis
