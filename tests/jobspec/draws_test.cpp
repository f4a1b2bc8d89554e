// 100,000 draws of each distribution of W&B sweep files against its cumulative distribution,
// written here with the standard library: Kolmogorov and Smirnov's statistic of the continuous
// ones, Pearson's chi-square of those with steps. The draws are a sweep's (Philox), so they are the
// same every time.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "jobspec/distribution.h"
#include "jobspec/random.h"
#include "jobspec/reader.h"

namespace thalweg::jobspec {
namespace {

constexpr int kDraws = 100'000;

using Cdf = std::function<double(double)>;

struct Case {
  const char* name;
  const char* text;
  Cdf cdf;          ///< of what is rounded, where there are steps
  double step = 0;  ///< 0: continuous
};

double within(double share) {
  return std::clamp(share, 0.0, 1.0);
}
double uniform_cdf(double x, double low, double high) {
  return within((x - low) / (high - low));
}
double normal_cdf(double x, double mean, double deviation) {
  return 0.5 * std::erfc((mean - x) / (deviation * std::sqrt(2.0)));
}
/// Of a = 2, b = 3: a polynomial.
double beta_cdf(double x) {
  x = within(x);
  return x * x * (6 - 8 * x + 3 * x * x);
}
double of_log(double x, const Cdf& cdf) {
  return x <= 0 ? 0 : cdf(std::log(x));
}

const double kLow = std::log(1e-3), kHigh = std::log(10.0);

const std::vector<Case>& continuous() {
  static const std::vector<Case> cases{
      {"uniform", "{distribution: uniform, min: -1, max: 3}",
       [](double x) { return uniform_cdf(x, -1, 3); }},
      {"log_uniform",
       "{distribution: log_uniform, min: -6.907755278982137, max: 2.302585092994046}",
       [](double x) { return of_log(x, [](double l) { return uniform_cdf(l, kLow, kHigh); }); }},
      {"log_uniform_values", "{distribution: log_uniform_values, min: 0.001, max: 10}",
       [](double x) { return of_log(x, [](double l) { return uniform_cdf(l, kLow, kHigh); }); }},
      {"inv_log_uniform",
       "{distribution: inv_log_uniform, min: -6.907755278982137, max: 2.302585092994046}",
       // ln(1/X) is uniform between min and max.
       [](double x) {
         return of_log(x, [](double l) { return 1 - uniform_cdf(-l, kLow, kHigh); });
       }},
      {"inv_log_uniform_values", "{distribution: inv_log_uniform_values, min: 0.001, max: 10}",
       // ln(1/X) is uniform between ln(1/max) and ln(1/min).
       [](double x) {
         return of_log(x, [](double l) { return 1 - uniform_cdf(-l, -kHigh, -kLow); });
       }},
      {"one_minus_log_uniform_values",
       "{distribution: one_minus_log_uniform_values, min: 0.1, max: 0.999}",
       // ln(1 - X) is uniform between ln(1 - max) and ln(1 - min).
       [](double x) { return 1 - uniform_cdf(std::log(1 - x), kLow, std::log(0.9)); }},
      {"normal", "{distribution: normal, mu: 2, sigma: 0.5}",
       [](double x) { return normal_cdf(x, 2, 0.5); }},
      {"log_normal", "{distribution: log_normal, mu: -1, sigma: 0.7}",
       [](double x) { return of_log(x, [](double l) { return normal_cdf(l, -1, 0.7); }); }},
      {"beta", "{distribution: beta, a: 2, b: 3}", beta_cdf},
  };
  return cases;
}

const std::vector<Case>& stepped() {
  static const std::vector<Case> cases{
      {"int_uniform", "{distribution: int_uniform, min: 3, max: 9}",
       [](double x) { return uniform_cdf(x, 2.5, 9.5); }, 1},
      {"q_uniform", "{distribution: q_uniform, min: 0, max: 10, q: 0.5}",
       [](double x) { return uniform_cdf(x, 0, 10); }, 0.5},
      {"q_log_uniform", "{distribution: q_log_uniform, min: 0, max: 3, q: 2}",
       [](double x) { return of_log(x, [](double l) { return uniform_cdf(l, 0, 3); }); }, 2},
      {"q_log_uniform_values", "{distribution: q_log_uniform_values, min: 1, max: 50, q: 4}",
       [](double x) {
         return of_log(x, [](double l) { return uniform_cdf(l, 0, std::log(50.0)); });
       },
       4},
      {"q_normal", "{distribution: q_normal, mu: 5, sigma: 3, q: 2}",
       [](double x) { return normal_cdf(x, 5, 3); }, 2},
      {"q_log_normal", "{distribution: q_log_normal, mu: 2, sigma: 0.5, q: 3}",
       [](double x) { return of_log(x, [](double l) { return normal_cdf(l, 2, 0.5); }); }, 3},
      {"q_beta", "{distribution: q_beta, a: 2, b: 3, q: 0.1}", beta_cdf, 0.1},
  };
  return cases;
}

std::vector<Value> drawn(const char* text) {
  Diagnostics diagnostics("f");
  const auto distribution = read_distribution(read_yaml(text, "f"), "x", diagnostics);
  diagnostics.throw_if_any();
  std::vector<Value> values;
  for (int i = 0; i < kDraws; ++i)
    values.push_back(distribution->sample(uniform(7, static_cast<std::uint64_t>(i), 1)));
  return values;
}

double number(const Value& value) {
  return value.is_int() ? static_cast<double>(value.as_int()) : value.as_double();
}

/// Pearson's statistic over its critical value at 1 in 1,000 (Wilson and Hilferty 1931); cells of
/// fewer than 20 expected draws are put together.
double chi_square_ratio(const std::map<double, int>& counts,
                        const std::map<double, double>& shares) {
  constexpr double least = 20;
  double statistic = 0, expected = 0, found = 0;
  int cells = 0;
  const auto close = [&] {
    statistic += (found - expected) * (found - expected) / expected;
    expected = found = 0;
    ++cells;
  };
  for (const auto& [value, share] : shares) {
    expected += share * kDraws;
    const auto count = counts.find(value);
    found += count == counts.end() ? 0 : count->second;
    if (expected >= least) close();
  }
  if (expected > 1) close();
  const double degrees = cells - 1, z = 3.0902, term = 2 / (9 * degrees);
  return statistic / (degrees * std::pow(1 - term + z * std::sqrt(term), 3));
}

TEST(Draws, ContinuousOnesFollowTheirDistribution) {
  for (const Case& c : continuous()) {
    std::vector<double> values;
    for (const Value& value : drawn(c.text))
      values.push_back(number(value));
    std::sort(values.begin(), values.end());
    double largest = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double share = c.cdf(values[static_cast<std::size_t>(i)]);
      largest = std::max({largest, std::abs(share - static_cast<double>(i) / kDraws),
                          std::abs(share - static_cast<double>(i + 1) / kDraws)});
    }
    EXPECT_LT(largest, 1.95 / std::sqrt(kDraws)) << c.name << ", 1 in 1,000";
  }
}

TEST(Draws, SteppedOnesFollowTheirDistributionAndLieOnSteps) {
  for (const Case& c : stepped()) {
    std::map<double, int> counts;
    for (const Value& value : drawn(c.text)) {
      const double steps = std::nearbyint(number(value) / c.step);
      ASSERT_NEAR(number(value), steps * c.step, 1e-9) << c.name;
      ++counts[steps];
    }
    std::map<double, double> shares;
    double sum = 0;
    for (double steps = counts.begin()->first; steps <= counts.rbegin()->first; ++steps) {
      shares[steps] = c.cdf((steps + 0.5) * c.step) - c.cdf((steps - 0.5) * c.step);
      sum += shares[steps];
    }
    EXPECT_GT(sum, 0.999) << c.name << ": what is drawn is all that there is";
    EXPECT_LT(chi_square_ratio(counts, shares), 1) << c.name;
  }
}

TEST(Draws, ListedOnesFollowTheirProbabilities) {
  EXPECT_EQ(drawn("{value: 3}").back(), Value(3));
  for (const auto& [text, shares] : std::map<const char*, std::map<double, double>>{
           {"{values: [10, 20, 30, 40]}", {{10, 0.25}, {20, 0.25}, {30, 0.25}, {40, 0.25}}},
           {"{distribution: categorical_w_probabilities, values: [1, 2, 3], "
            "probabilities: [0.7, 0.05, 0.25]}",
            {{1, 0.7}, {2, 0.05}, {3, 0.25}}}}) {
    std::map<double, int> counts;
    for (const Value& value : drawn(text))
      ++counts[number(value)];
    EXPECT_EQ(counts.size(), shares.size()) << text;
    EXPECT_LT(chi_square_ratio(counts, shares), 1) << text;
  }
}

/// 8 continuous, 7 with steps, constant and the two lists: all 18.
TEST(Draws, NoRowIsForgotten) {
  std::vector<std::string> names{"constant", "categorical", "categorical_w_probabilities"};
  for (const auto* cases : {&continuous(), &stepped()})
    for (const Case& c : *cases)
      names.emplace_back(c.name);
  std::vector<std::string> rows;
  for (const auto& [name, doc] : distribution_docs())
    rows.push_back(name);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(rows));
}

}  // namespace
}  // namespace thalweg::jobspec
