// Optimizers that see whole tensors (norms, rows and columns, matrix roots) against published
// updates: three steps of a 2 x 3 matrix, float64 to 1e-9 and float32 to 1e-5 (SOAP, published in
// float32: 1e-4). Sources: You et al. 2017, algorithm 1 (lars), tensorflow/tpu lars_optimizer.py
// (tpu), NVIDIA apex FusedLAMB and LARC (lamb, larc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/optim/trainee.h"

namespace thalweg::engine {
namespace {

using test::Device;
using test::Trainee;

struct Row {
  const char* options;
  double lr;
  double tolerance;  ///< in float64
  std::vector<std::vector<double>> after;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"{name: lars, trust: 0.001, weight_decay: 0.01}",
       0.1,
       1e-9,
       {{0.999908248043, -1.999816496086, 2.999724744129, 0.499829007717, 0.249914503858,
         -1.4999040775},
        {0.999626163863, -1.999702829683, 2.999586423235, 0.499736255313, 0.249707234101,
         -1.500065523943},
        {0.999426694869, -1.999830239639, 2.999322903188, 0.499468408912, 0.249700530213,
         -1.50026220738}}},
      {"{name: lars, variant: tpu, trust: 0.001, weight_decay: 0.01}",
       0.1,
       1e-9,
       {{0.99991658913, -1.99983317826, 2.99974976739, 0.49983317826, 0.24991658913,
         -1.49991658913},
        {0.999665593224, -1.999781691921, 2.999704716843, 0.499781691921, 0.249729951149,
         -1.500116098696},
        {0.999513859447, -1.99997997351, 2.999545728861, 0.499556811581, 0.249753527313,
         -1.500345210655}}},
      {"{name: lamb, weight_decay: 0.01}",
       0.1,
       1e-9,
       {{0.834477042908, -1.832837366106, 2.83119823558, 0.335295652184, 0.085706185947,
         -1.333657614215},
        {0.604874589797, -1.762264044753, 2.788350049528, 0.268435009406, -0.153790979953,
         -1.469061861855},
        {0.449662853036, -1.901619665675, 2.650288327586, 0.066234401013, -0.132196573924,
         -1.645353779622}}},
      {"{name: momentum, weight_decay: 0.01, larc: clip}",
       0.1,
       1e-9,
       {{0.989, -1.978, 2.967, 0.4795, 0.23975, -1.4885},
        {0.948111, -1.966222, 2.954333, 0.4705705, 0.21028525, -1.5166615},
        {0.920362789, -1.993655578, 2.919978367, 0.4320633795, 0.21355668975, -1.5504901885}}},
      {"{name: momentum, weight_decay: 0.01, larc: scale}",
       0.1,
       1e-9,
       {{0.9981649609, -1.9963299218, 2.994494882701, 0.496580154405, 0.248290077202,
         -1.498081550032},
        {0.992530077099, -1.994055344821, 2.991725530848, 0.494723508699, 0.24414918627,
         -1.50130254643},
        {0.988544957996, -1.996591638862, 2.986460374757, 0.489374947037, 0.244010858924,
         -1.505226362934}}},
      {"{name: momentum, weight_decay: 0.01, larc: clip, larc_trust: 0.001}",
       0.1,
       1e-9,
       {{0.99908248045, -1.9981649609, 2.99724744135, 0.498290077202, 0.249145038601,
         -1.499040775016},
        {0.996263249216, -1.997028001173, 2.995863537669, 0.497362174874, 0.247073407887,
         -1.500653360722},
        {0.99426956869, -1.998299280721, 2.993229580191, 0.494685693157, 0.247005362337,
         -1.502617861378}}},
      {"{name: adam, larc: clip}",
       0.1,
       1e-9,
       {{0.90000001, -1.900000005, 2.900000003333, 0.400000005, 0.15000001, -1.40000001},
        {0.808221902206, -1.873366302719, 2.885547950929, 0.373366302719, 0.053481813521,
         -1.455950357485},
        {0.75985271992, -1.919099479991, 2.844773651904, 0.309834287325, 0.060141714771,
         -1.513044865707}}},
      {"{name: adam, larc: clip, larc_trust: 0.001}",
       0.1,
       1e-9,
       {{0.900000109888, -1.900000054944, 2.900000036629, 0.400000054944, 0.150000109888,
         -1.400000109888},
        {0.804307232482, -1.862123108401, 2.871746415713, 0.362123108401, 0.050651736941,
         -1.44828359645},
        {0.750256201705, -1.893725684072, 2.827769817171, 0.29706756628, 0.047939727859,
         -1.498365995404}}},
  };
  return table;
}

const std::vector<double> kStart{1, -2, 3, 0.5, 0.25, -1.5};
const std::vector<double> kGradients[3] = {{0.1, -0.2, 0.3, 0.2, 0.1, -0.1},
                                           {0.3, 0.1, -0.2, -0.1, 0.2, 0.4},
                                           {-0.1, 0.4, 0.2, 0.3, -0.3, 0.1}};

template <class T>
std::vector<T> as(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

template <class T>
void compare(const Row& row, double tolerance) {
  for (const Device device : {Device::plain, Device::backwards}) {
    Trainee<T> t(row.options, {{"a", {2, 3}}, {"b", {2, 3}}}, device);
    t.put(t.w, {as<T>(kStart), as<T>(kStart)});
    for (std::size_t step = 0; step < 3; ++step) {
      const auto g = as<T>(kGradients[step]);
      t.step({static_cast<std::int64_t>(step), row.lr}, {g, g});
      const auto now = t.plain(t.w);
      for (std::size_t i = 0; i < 6; ++i)
        EXPECT_NEAR(now[0][i], row.after[step][i],
                    tolerance * std::max(1.0, std::abs(row.after[step][i])))
            << row.options << ", step " << step + 1 << ", element " << i;
      EXPECT_EQ(now[0], now[1]) << "the place in memory must not matter";
    }
  }
}

class PublishedMatrix : public testing::TestWithParam<Row> {};
TEST_P(PublishedMatrix, UpdatesInFloat64) {
  compare<double>(GetParam(), GetParam().tolerance);
}
TEST_P(PublishedMatrix, UpdatesInFloat32) {
  compare<float>(GetParam(), std::max(1e-5, GetParam().tolerance));
}
INSTANTIATE_TEST_SUITE_P(Matrices, PublishedMatrix, testing::ValuesIn(rows()));

/// One tensor alone through three steps.
std::vector<double> run(const std::string& options, std::vector<double> lr, bool bias = false) {
  Trainee<double> t(options, {{"a", {2, 3}, !bias}});
  t.put(t.w, {kStart});
  for (std::size_t step = 0; step < 3; ++step)
    t.step({static_cast<std::int64_t>(step), lr[step]}, {kGradients[step]});
  return t.plain(t.w)[0];
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x)
    sum += v * v;
  return std::sqrt(sum);
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

TEST(Lars, CaffesRatesLeaveTheDecayOut) {
  for (const bool clip : {false, true}) {
    std::vector<double> w = kStart, v(6);
    for (const auto& g : kGradients) {
      const double ratio = (1 - 0.9) * 0.5 * norm(w) / norm(g);  // 0.5 * 4 / 0.5 and the like
      const double rate = clip ? std::min(0.3, ratio) : 0.3 * ratio;
      for (std::size_t i = 0; i < 6; ++i)
        v[i] = 0.9 * v[i] + rate * (g[i] + 0.01 * w[i]);
      for (std::size_t i = 0; i < 6; ++i)
        w[i] -= v[i];
    }
    const std::string variant = clip ? "caffe_clip" : "caffe";
    expect_near(run("{name: lars, variant: " + variant + ", trust: 0.5, weight_decay: 0.01}",
                    {0.3, 0.3, 0.3}),
                w);
  }
}

TEST(Lars, CorrectionFollowsAChangedRate) {
  const std::vector<double> lr{0.1, 0.01, 0.05};
  std::vector<double> w = kStart, v(6);
  for (std::size_t step = 0; step < 3; ++step) {
    const auto& g = kGradients[step];
    const double m = 0.9 * (step > 0 ? lr[step] / lr[step - 1] : 1);
    const double ratio = 0.001 * norm(w) / (norm(g) + 0.01 * norm(w));
    for (std::size_t i = 0; i < 6; ++i)
      v[i] = m * v[i] + lr[step] * ratio * (g[i] + 0.01 * w[i]);
    for (std::size_t i = 0; i < 6; ++i)
      w[i] -= v[i];
  }
  expect_near(run("{name: lars, weight_decay: 0.01}", lr), w);
  EXPECT_NE(run("{name: lars, weight_decay: 0.01, correction: false}", lr), w);
}

TEST(Exclusion, BiasesTakeThePlainStep) {
  const std::vector<double> lr{0.1, 0.1, 0.1};
  expect_near(run("{name: lars}", lr, true), run("{name: momentum}", lr));
  expect_near(run("{name: lamb}", lr, true),
              run("{name: adamw, weight_decay: 0, epsilon: 1e-6}", lr));
  EXPECT_NE(run("{name: lars, exclude: false}", lr, true), run("{name: momentum}", lr));
}

TEST(Larc, ZeroWeightsAreLeftAloneOrTakeTheFallback) {
  const auto first = [](const std::string& options) {
    Trainee<double> t(options, {{"a", {2}}});
    t.step({0, 0.1}, {{1.0, -2.0}});
    return t.plain(t.w)[0];
  };
  expect_near(first("{name: sgd, larc: scale}"), {-0.1, 0.2});
  expect_near(first("{name: sgd, larc: scale, larc_fallback: 0.5}"), {-0.05, 0.1});
}

TEST(Larc, ClipOfOneDoesNotDivideByTheRate) {
  const std::vector<double> lr{0.1, 0.1, 0.1};
  std::vector<double> w = kStart;
  for (const auto& g : kGradients) {
    const double r = std::min(0.002 * norm(w) / norm(g), 1.0);
    for (std::size_t i = 0; i < 6; ++i)
      w[i] -= 0.1 * r * g[i];
  }
  const auto found = run("{name: sgd, larc: clip_one, larc_trust: 0.002}", lr);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(found[i], w[i], 1e-9);
}

}  // namespace
}  // namespace thalweg::engine
