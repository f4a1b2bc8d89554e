// The gradient noise scale: the estimator, the exact one, and both along a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "engine/train/exact_noise.h"
#include "engine/train/noise_scale.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using testing::Contains;
using testing::HasSubstr;

// Gradients from N(G, sigma^2 I) of dimension 1000 with sigma = 1 and |G|^2 = 2:
// B_simple = d sigma^2 / |G|^2 = 500.
TEST(NoiseScale, FindsThatOfSyntheticGradients) {
  constexpr int kDimension = 1000, kDraws = 200, kSmall = 100, kParts = 16;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const double each = std::sqrt(2.0 / kDimension);  // of G
  NoiseScale scale(0.999999);                       // all pairs weigh nearly the same
  std::vector<double> traces, norms;
  for (int draw = 0; draw < kDraws; ++draw) {
    NoisePair pair{kSmall, kSmall * kParts, 0, 0};
    std::vector<double> mean(kDimension);
    for (int part = 0; part < kParts; ++part)
      for (double& m : mean) {
        const double g = each + normal(random) / std::sqrt(kSmall);
        m += g / kParts;
        pair.small_squares += g * g / kParts;
      }
    for (const double m : mean)
      pair.large_squares += m * m;
    scale.add(pair);
    NoiseScale alone;
    alone.add(pair);
    traces.push_back(alone.trace());
    norms.push_back(alone.squared_norm());
  }
  const auto expect_mean = [](const std::vector<double>& values, double expected) {
    const auto n = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double variance = 0;
    for (const double v : values)
      variance += (v - mean) * (v - mean) / (n - 1);
    EXPECT_NEAR(mean, expected, 3 * std::sqrt(variance / n));
  };
  expect_mean(traces, 1000);
  expect_mean(norms, 2);
  const auto points = scale.report(7);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].name, "noise/b_simple");
  EXPECT_EQ(points[0].step, 7);
  EXPECT_NEAR(points[0].value, 500, 25);
}

TEST(NoiseScale, IsARatioOfRunningMeans) {
  // Batches of 1 and 2: |G|^2 = 2 large - small, trace = 2 (small - large).
  NoiseScale scale(0.5);
  EXPECT_TRUE(scale.report(0).empty());
  scale.add({1, 2, 5, 4});   // 3, 2
  scale.add({1, 2, 10, 6});  // 2, 8
  EXPECT_DOUBLE_EQ(scale.squared_norm(), (0.25 * 3 + 0.5 * 2) / 0.75);
  EXPECT_DOUBLE_EQ(scale.trace(), (0.25 * 2 + 0.5 * 8) / 0.75);
  EXPECT_DOUBLE_EQ(scale.report(2)[0].value, 4.5 / 1.75);
  const std::vector<double> before = scale.state();
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {inf, std::nan("")})
    for (const NoisePair& pair : {NoisePair{1, 2, bad, 4}, NoisePair{1, 2, 5, bad}})
      scale.add(pair);
  EXPECT_EQ(scale.state(), before) << "what is not finite is left out";
  NoiseScale resumed(0.5);
  resumed.restore(before);
  scale.add({1, 2, 5, 4});
  resumed.add({1, 2, 5, 4});
  EXPECT_EQ(resumed.state(), scale.state());
  EXPECT_THROW(resumed.restore({1, 2}), std::invalid_argument);
}

TEST(NoiseScale, HasNoRatioWhereATermIsNotPositive) {
  NoiseScale scale;
  scale.add({1, 2, 10, 4});  // |G|^2 = -2
  const auto points = scale.report(1);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].name, "noise/trace");
  EXPECT_EQ(points[1].name, "noise/squared_norm");
}

/// What torch.manual_seed(0) gives linear layers: weight and bias uniform within 1 / sqrt(fan_in),
/// from the lower 24 bits of each of mt19937's numbers.
Buffer weights_of_pytorch(const Model& model) {
  std::mt19937 random(0);
  std::vector<float> plain;
  float limit = 0;
  for (const ParameterInfo& info : model.parameters()) {
    if (info.shape.size() == 2) limit = 1 / std::sqrt(static_cast<float>(info.shape[1]));
    for (std::int64_t i = 0; i < elements(info.shape); ++i) {
      const float share = static_cast<float>(random() & 0xFFFFFFu) * 0x1p-24f;
      plain.push_back(share * (2 * limit) - limit);
    }
  }
  Buffer weights = Buffer::of_floats(model.parameter_floats());
  model.from_plain(plain.data(), weights.floats());
  return weights;
}

// |G|^2 3.779, tr(Sigma) 144.2, B_simple 38.1 were computed with PyTorch 1.13.1 from the gradient
// of every one of 55,000 samples. Initial weights and samples differ: 35 to 42 is right.
TEST(ExactNoise, OfFashionMnistAtInitialWeights) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"))
    GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  const auto dataset =
      load_dataset(Map{{"name", "fashion-mnist"}, {"dir", "/usr/share/datasets/fashion-mnist"}});
  const auto model =
      build_model(Map{{"name", "mlp"}, {"hidden", List{128}}}, {{1, 28, 28}, 10}, 1, "cpu");
  ASSERT_EQ(model->parameter_count(), 101770);
  const Buffer weights = weights_of_pytorch(*model);
  std::vector<std::uint32_t> samples(55000);
  std::iota(samples.begin(), samples.end(), 0u);
  ExecutorPool executors(*model, 2);
  const ExactNoise noise =
      exact_noise({*dataset, samples, nullptr, 1, *model, weights.floats(), 1}, executors);
  EXPECT_EQ(noise.samples, 55000);
  EXPECT_NEAR(noise.squared_norm, 3.779, 0.001);
  EXPECT_NEAR(noise.trace, 144.2, 0.1);
  EXPECT_NEAR(noise.b_simple(), 38.1, 0.1);
}

// With all samples in batches of b, the two-batch estimate over all pairs of them is exact too.
TEST(ExactNoise, AgreesWithTheEstimatorAndDoesNotDependOnLanes) {
  const auto dataset = load_dataset(Map{{"name", "synthetic"}, {"samples", 700}});
  const jobspec::Value mlp = Map{{"name", "mlp"}, {"hidden", List{9}}};
  const auto model = build_model(mlp, {{16}, 10}, 1, "reference");
  Buffer weights = Buffer::of_floats(model->parameter_floats());
  model->initialize(3, weights.floats(), nullptr);
  std::vector<std::uint32_t> samples(640);
  std::iota(samples.begin(), samples.end(), 30u);
  const auto measure = [&](const Model& m, int batch, int threads) {
    ExecutorPool executors(m, threads);
    return exact_noise({*dataset, samples, nullptr, 1, m, weights.floats(), batch}, executors);
  };
  const ExactNoise one = measure(*model, 1, 1), two_executors = measure(*model, 1, 2);
  EXPECT_EQ(one.trace, two_executors.trace);
  EXPECT_EQ(one.squared_norm, two_executors.squared_norm);
  const auto pairs = build_model(mlp, {{16}, 10}, 2, "reference");
  const ExactNoise by_two = measure(*pairs, 2, 1);
  EXPECT_NEAR(by_two.squared_norm, one.squared_norm, 1e-5 * one.squared_norm);
  EXPECT_NEAR(by_two.trace, one.trace, 0.2 * one.trace);  // 320 samples of a variance
  // The mean of small squares over all batches is that of squared_norm + trace / b.
  NoiseScale scale;
  scale.add({2, 640, by_two.squared_norm + by_two.trace / 2, by_two.squared_norm});
  EXPECT_NEAR(scale.trace(), by_two.trace * 640 / 638, 1e-6 * by_two.trace);
}

TEST(ExactNoise, NeedsABatch) {
  const auto dataset = load_dataset(Map{{"name", "synthetic"}, {"samples", 10}});
  const auto model = build_model(Map{{"name", "mlp"}}, {{16}, 10}, 8, "reference");
  const Buffer weights = Buffer::of_floats(model->parameter_floats());
  ExecutorPool executors(*model, 1);
  const std::vector<std::uint32_t> samples{1, 2, 3};
  EXPECT_THROW(exact_noise({*dataset, samples, nullptr, 1, *model, weights.floats(), 8}, executors),
               std::invalid_argument);
}

TEST(Attempt, JournalsTheNoiseScaleWithTheSameBitsOnAnyRanks) {
  jobspec::Trial trial = tiny_trial();
  const test::TempDir one, two, off;
  run_to_end(trial, one.path(), 1);
  run_to_end(trial, two.path(), 2);
  const auto points = curve({one.path()});
  EXPECT_EQ(points, curve({two.path()}));
  for (const char* name : {"noise/b_simple", "noise/trace", "noise/squared_norm"})
    EXPECT_THAT(points, Contains(HasSubstr(name)));
  trial.train.set("noise.every", 0);
  run_to_end(trial, off.path(), 1);
  EXPECT_THAT(curve({off.path()}), Not(Contains(HasSubstr("noise/"))));
}

}  // namespace
}  // namespace thalweg::engine
