// What advice fits to earlier runs: how speed grows with the ranks, and the noise scale. Verdicts
// and intervals hold as often as they say, by simulation.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/scaling_law.h"

namespace thalweg::jobspec::advise {
namespace {

double law(double n, double contention, double coherence) {
  return 100 * n / (1 + contention * (n - 1) + coherence * n * (n - 1));
}

TEST(ScalingLaw, IsThatOfExactSpeeds) {
  std::vector<Speed> runs;
  for (const double n : {1, 2, 4, 8, 16, 32})
    runs.push_back({n, law(n, 0.05, 0.002)});
  const auto fit = fit_scaling(runs);
  ASSERT_TRUE(fit);
  for (const double n : {1, 3, 8, 24, 64})
    EXPECT_NEAR(fit->at(n) / law(n, 0.05, 0.002), 1, 1e-9) << n;
  // 3 c N^2 + (b - c) N = 1 - b: where d ln X / d ln N is a half.
  const double edge = (-0.048 + std::sqrt(0.048 * 0.048 + 4 * 0.006 * 0.95)) / 0.012;
  EXPECT_NEAR(fit->hardly_gains_from(32), edge, 0.02 * edge);
  EXPECT_TRUE(fit->hardly_gains(edge * 1.01));
  EXPECT_FALSE(fit->hardly_gains(edge * 0.99));
}

TEST(ScalingLaw, NeedsMoreRunsThanItHasTerms) {
  EXPECT_FALSE(fit_scaling({}));
  EXPECT_FALSE(fit_scaling({{2, 100}, {2, 101}, {2, 99}})) << "one number of ranks";
  EXPECT_FALSE(fit_scaling({{1, 100}, {2, 190}})) << "nothing tells of chance";
  EXPECT_TRUE(fit_scaling({{1, 100}, {2, 190}, {2, 195}}));
}

/// The share of drawn records of which the test says that the `ranks`-th gains little. Errors of a
/// run are `deviation` of its speed.
double warned(const std::vector<double>& sizes, int repeats, double contention, double coherence,
              double ranks, double deviation) {
  constexpr int draws = 2000;
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  int count = 0;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<Speed> runs;
    for (const double n : sizes)
      for (int i = 0; i < repeats; ++i)
        runs.push_back({n, law(n, contention, coherence) * std::exp(deviation * normal(random))});
    count += fit_scaling(runs)->hardly_gains(ranks);
  }
  return count / static_cast<double>(draws);
}

TEST(ScalingLaw, WarnsWithoutReasonInOneRecordOfTwentyAtMost) {
  // On the edge, where the gain is exactly half of the cost: at (1 - b) / b ranks without c.
  for (const double deviation : {0.02, 0.1, 0.2}) {
    EXPECT_LT(warned({1, 2, 4}, 2, 0.2, 0, 4, deviation), 0.065) << deviation;
    EXPECT_LT(warned({1, 2, 4, 8}, 1, 0.1, 0, 9, deviation), 0.065) << deviation;
    EXPECT_LT(warned({1, 2, 4, 8, 16}, 3, 0.05, 0, 19, deviation), 0.065) << deviation;
  }
  EXPECT_GT(warned({1, 2, 4, 8, 16}, 3, 0.05, 0, 19, 0.1), 0.03) << "not by never warning";
  EXPECT_LT(warned({1, 2, 4, 8}, 2, 0.0, 0, 8, 0.1), 0.01) << "it scales; single dips are noise";
  EXPECT_GT(warned({1, 2, 4, 8, 16}, 2, 0.3, 0, 16, 0.05), 0.95) << "it does not, and that is seen";
}

TEST(StudentsT, AsInTables) {
  EXPECT_TRUE(std::isinf(t_quantile_95(0)));
  EXPECT_NEAR(t_quantile_95(1), 6.3138, 1e-4);
  EXPECT_NEAR(t_quantile_95(12), 1.7823, 2e-3);
  EXPECT_NEAR(t_quantile_975(11), 2.2010, 3e-3);
  EXPECT_NEAR(t_quantile_975(30), 2.0423, 1e-3);
}

TEST(GeometricMean, IntervalsHoldAsOftenAsTheySay) {
  EXPECT_EQ(geometric_mean({}).middle, 0);
  EXPECT_TRUE(std::isinf(geometric_mean({7}).high));
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const int runs : {2, 3, 5, 12}) {
    constexpr int draws = 4000;
    int held = 0;
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<double> values;
      for (int i = 0; i < runs; ++i)
        values.push_back(300 * std::exp(0.4 * normal(random)));
      const Interval found = geometric_mean(values);
      held += found.low < 300 && 300 < found.high;
    }
    EXPECT_NEAR(held / static_cast<double>(draws), 0.95, 0.012) << runs;
  }
}

/// What the engine reports of a noise scale of 300 where the two terms of one step are off by twice
/// and by three tenths of themselves.
std::vector<NoisePoint> measured(int steps, std::mt19937_64& random) {
  constexpr double beta = 0.99;
  std::normal_distribution<double> normal;
  double trace = 0, squared = 0, weight = 0;
  std::vector<NoisePoint> points;
  for (int step = 1; step <= steps; ++step) {
    trace = beta * trace + (1 - beta) * 300 * (1 + 0.3 * normal(random));
    squared = beta * squared + (1 - beta) * (1 + 2 * normal(random));
    weight = beta * weight + 1 - beta;
    if (step % 10 == 0 && squared > 0)
      points.push_back({static_cast<double>(step), trace / squared});
  }
  return points;
}

TEST(SettledNoise, IsOfRunsThatAreLongEnough) {
  std::mt19937_64 random(3);
  EXPECT_EQ(settled_noise({}, 0.99, 1), 0);
  EXPECT_EQ(settled_noise(measured(92, random), 0.99, 1), 0);
  EXPECT_EQ(settled_noise(measured(400, random), 0.99, 2), 0) << "200 measurements";
  EXPECT_GT(settled_noise(measured(400, random), 0.99, 1), 0);
  EXPECT_NEAR(settled_noise({{10, 900}, {60, 100}, {100, 400}}, 0.9, 1), 200, 1e-9);
}

TEST(SettledNoise, IntervalsOfSeveralRunsHoldTheScale) {
  std::mt19937_64 random(11);
  for (const int runs : {2, 4, 8}) {
    constexpr int draws = 400;
    int held = 0;
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<double> scales;
      for (int i = 0; i < runs; ++i)
        scales.push_back(settled_noise(measured(1000, random), 0.99, 1));
      const Interval found = geometric_mean(scales);
      held += found.low < 300 && 300 < found.high;
    }
    EXPECT_NEAR(held / static_cast<double>(draws), 0.95, 0.03) << runs;
  }
}

}  // namespace
}  // namespace thalweg::jobspec::advise
