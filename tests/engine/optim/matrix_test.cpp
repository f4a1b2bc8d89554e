// Optimizers that see whole tensors (norms, matrix_rows and columns, matrix roots) against
// published updates: three steps of a 2 x 3 matrix, float64 to 1e-9 and float32 to 1e-5 (SOAP,
// published in float32: 1e-4). Sources: You et al. 2017, algorithm 1 (lars), tensorflow/tpu
// lars_optimizer.py (tpu), NVIDIA apex FusedLAMB and LARC (lamb, larc), PyTorch (adafactor),
// KellerJordan/Muon, Gupta et al. 2018, algorithm 1 (shampoo), nikhilvyas/SOAP.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/optim/large_product.h"
#include "engine/optim/matrix.h"
#include "engine/tensor/random.h"
#include "tests/engine/optim/trainee_on_gpu.h"

namespace thalweg::engine {
namespace {

using optim::Stored;
using test::Device;
using test::Trainee;
using test::TraineeOnGpu;

struct MatrixRow {
  const char* options;
  double lr;
  double tolerance;  ///< in float64
  std::vector<std::vector<double>> after;
};

const std::vector<MatrixRow>& matrix_rows() {
  static const std::vector<MatrixRow> table = {
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
      {"{name: adafactor}",
       0.01,
       1e-9,
       {{0.991388353946, -1.982776707892, 2.981731940034, 0.473690986733, 0.236845493366,
         -1.490698359156},
        {0.968171113392, -1.992487169537, 2.992676652191, 0.481265424876, 0.217837732929,
         -1.512122105456},
        {0.975476813011, -2.016193081265, 2.97980504646, 0.459036690952, 0.235869969118,
         -1.51864941778}}},
      {"{name: muon, adamw_for: none}",
       0.02,
       1e-9,
       {{0.993831957331, -1.991055431905, 2.986243996133, 0.486081206615, 0.244736361929,
         -1.495414665378},
        {0.977772611743, -1.991103918892, 2.989503888741, 0.486867121008, 0.232507691977,
         -1.513064246781},
        {0.975090491103, -2.009282016929, 2.978765123257, 0.470942494916, 0.241720060743,
         -1.523580749938}}},
      {"{name: shampoo, beta1: 0, graft: none, epsilon: 0.0001, every: 1}",
       0.1,
       1e-9,
       {{0.960982920394, -1.95026396856, 2.922566140062, 0.408760047827, 0.2185290878,
         -1.474188713354},
        {0.896870612706, -1.979937542989, 2.945622882387, 0.41620816236, 0.163423110685,
         -1.548004183521},
        {0.898246610143, -2.038145963997, 2.911591553122, 0.365367087636, 0.199740129139,
         -1.573543376274}}},
      {"{name: soap, weight_decay: 0, every: 1}",
       0.1,
       1e-4,
       {{1, -2, 3, 0.5, 0.25, -1.5},
        {0.872641, -2.002916, 3.088155, 0.441668, 0.21111, -1.676309},
        {0.811784, -2.079775, 3.084721, 0.388388, 0.227214, -1.838819}}},
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

template <class Trained>
void compare_matrix(const MatrixRow& row, double tolerance) {
  using T = typename Trained::Number;
  for (const Device device : {Device::plain, Device::backwards}) {
    Trained t(row.options, {{"a", {2, 3}}, {"b", {2, 3}}}, device);
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

class PublishedMatrix : public testing::TestWithParam<MatrixRow> {};
TEST_P(PublishedMatrix, UpdatesInFloat64) {
  compare_matrix<Trainee<double>>(GetParam(), GetParam().tolerance);
}
TEST_P(PublishedMatrix, UpdatesInFloat32) {
  compare_matrix<Trainee<float>>(GetParam(), std::max(1e-5, GetParam().tolerance));
}
TEST_P(PublishedMatrix, UpdatesOnAGpu) {
  compare_matrix<TraineeOnGpu>(GetParam(), std::max(1e-5, GetParam().tolerance));
}
INSTANTIATE_TEST_SUITE_P(Matrices, PublishedMatrix, testing::ValuesIn(matrix_rows()));

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

TEST(Lars, CaffesRatioTakesTheScheduledMomentum) {
  for (const bool clip : {false, true}) {
    Trainee<double> t(std::string("{name: lars, variant: ") + (clip ? "caffe_clip" : "caffe") +
                          ", trust: 0.5, weight_decay: 0.01}",
                      {{"w", {2, 3}}});
    t.put(t.w, {kStart});
    std::vector<double> w = kStart, v(6);
    const std::vector<double> momenta{0.95, 0.5, 0.7};  // one-cycle moves them
    for (std::size_t step = 0; step < 3; ++step) {
      const auto& g = kGradients[step];
      const double m = momenta[step], ratio = (1 - m) * 0.5 * norm(w) / norm(g);
      const double rate = clip ? std::min(0.3, ratio) : 0.3 * ratio;
      for (std::size_t i = 0; i < 6; ++i)
        v[i] = m * v[i] + rate * (g[i] + 0.01 * w[i]);
      for (std::size_t i = 0; i < 6; ++i)
        w[i] -= v[i];
      t.step({static_cast<std::int64_t>(step), 0.3, m}, {g});
    }
    expect_near(t.plain(t.w)[0], w);
  }
}

TEST(Lars, WhereANormIsZeroTheRatioIsOne) {
  const auto first = [](const std::string& variant, double lr) {
    Trainee<double> t("{name: lars, weight_decay: 0, variant: " + variant + "}", {{"w", {2}}});
    t.step({0, lr}, {{1.0, -2.0}});
    return t.plain(t.w)[0];
  };
  for (const char* variant : {"paper", "caffe", "tpu"})
    expect_near(first(variant, 2), {-2, 4});
  // NVIDIA/caffe: local_rate = min(rate, 1).
  expect_near(first("caffe_clip", 2), {-1, 2});
  expect_near(first("caffe_clip", 0.5), {-0.5, 1});
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

template <class T>
std::vector<T> wave(std::size_t n, double phase) {
  std::vector<T> x(n);
  for (T& v : x)
    v = static_cast<T>(std::sin(phase += 0.7));
  return x;
}

template <class T>
void expect_products() {
  // Sizes around those of the blocks.
  for (const std::size_t m : {1, 5, 13})
    for (const std::size_t n : {1, 31, 70})
      for (const std::size_t k : {1, 8, 33}) {
        const auto a = wave<T>(m * k, 1), b = wave<T>(k * n, 2);
        std::vector<T> at(m * k), bt(k * n), expected(m * n);
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t p = 0; p < k; ++p)
            at[p * m + i] = a[i * k + p];
        for (std::size_t p = 0; p < k; ++p)
          for (std::size_t j = 0; j < n; ++j)
            bt[j * k + p] = b[p * n + j];
        for (std::size_t i = 0; i < m; ++i)
          for (std::size_t j = 0; j < n; ++j)
            for (std::size_t p = 0; p < k; ++p)
              expected[i * n + j] += a[i * k + p] * b[p * n + j];
        for (const Stored a_is : {Stored::plain, Stored::transposed})
          for (const Stored b_is : {Stored::plain, Stored::transposed}) {
            std::vector<T> c(m * n, T(9));
            optim::multiply(m, n, k, a_is == Stored::plain ? a.data() : at.data(), a_is,
                            b_is == Stored::plain ? b.data() : bt.data(), b_is, c.data());
            EXPECT_EQ(c, expected) << m << " " << n << " " << k;  // the same order of sums
          }
      }
}
TEST(Multiply, GivesTheBitsOfTheThreeLoops) {
  expect_products<float>();
  expect_products<double>();
}

std::vector<float> noise(std::size_t n, std::size_t key) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = uniform01(philox(7, Stream::noise, 0, i)[key]) - 0.5f;
  return x;
}

/// a b of a (m, k) and b (k, n), in float64.
std::vector<double> exact_product(std::size_t m, std::size_t n, std::size_t k,
                                  const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * k + p]) * static_cast<double>(b[p * n + j]);
  return c;
}
std::vector<float> transposed(std::size_t rows, std::size_t columns, const std::vector<float>& x) {
  std::vector<float> t(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      t[j * rows + i] = x[i * columns + j];
  return t;
}
void expect_product(const std::vector<float>& c, const std::vector<double>& expected,
                    double tolerance) {
  ASSERT_EQ(c.size(), expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(c[i]) - expected[i]));
  EXPECT_LE(worst, tolerance);
}

TEST(Multiply, OfLargeMatricesIsTheProductOnAnyNumberOfThreads) {
  const std::size_t m = 70, n = 90, k = 130;
  ASSERT_TRUE(optim::is_large(m, n, k));
  const auto a = noise(m * k, 0), b = noise(k * n, 1);
  const auto at = transposed(m, k, a), bt = transposed(k, n, b);
  const auto expected = exact_product(m, n, k, a, b);
  for (const Stored a_is : {Stored::plain, Stored::transposed})
    for (const Stored b_is : {Stored::plain, Stored::transposed}) {
      std::vector<float> one(m * n, 9.0f), many = one;
      const auto product = [&](std::vector<float>& c) {
        optim::multiply(m, n, k, (a_is == Stored::plain ? a : at).data(), a_is,
                        (b_is == Stored::plain ? b : bt).data(), b_is, c.data());
      };
      product(one);
      expect_product(one, expected, 1e-5);
      const int before = omp_get_max_threads();
      omp_set_num_threads(before == 3 ? 4 : 3);
      product(many);
      omp_set_num_threads(before);
      EXPECT_EQ(one, many);
    }
}

TEST(Multiply, PortablyLargeMatricesHaveTheBitsOfTheThreeLoops) {
  const std::size_t m = 70, n = 90, k = 130;
  const auto a = noise(m * k, 0), b = noise(k * n, 1);
  std::vector<float> expected(m * n), c(m * n), symmetric(m * m), other(m * m);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < n; ++j)
        expected[i * n + j] += a[i * k + p] * b[p * n + j];
  optim::multiply_portably(true);
  EXPECT_FALSE(optim::is_large(m, n, k));
  optim::multiply(m, n, k, a.data(), Stored::plain, b.data(), Stored::plain, c.data());
  optim::multiply_by_transpose(m, k, a.data(), Stored::plain, symmetric.data());
  optim::multiply(m, m, k, a.data(), Stored::plain, a.data(), Stored::transposed, other.data());
  optim::multiply_portably(false);
  EXPECT_EQ(c, expected);
  EXPECT_EQ(symmetric, other);
  EXPECT_TRUE(optim::is_large(m, n, k));
}

TEST(Multiply, ByItsTransposeIsThatProduct) {
  // Small, one call of oneDNN, and panels whose last one is short.
  for (const auto& [n, k] : {std::pair<std::size_t, std::size_t>{20, 30}, {100, 150}, {600, 40}}) {
    const auto a = noise(n * k, 2), at = transposed(n, k, a);
    const auto expected = exact_product(n, n, k, a, at);
    for (const Stored a_is : {Stored::plain, Stored::transposed}) {
      std::vector<float> c(n * n, 9.0f);
      optim::multiply_by_transpose(n, k, (a_is == Stored::plain ? a : at).data(), a_is, c.data());
      expect_product(c, expected, 1e-5);
    }
  }
}

TEST(Multiply, AddsToAMultipleOfWhatIsThere) {
  const std::size_t n = 600, k = 40;
  const auto a = noise(n * k, 2);
  auto c = noise(n * n, 3);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      c[i * n + j] = c[j * n + i];
  auto expected = exact_product(n, n, k, a, transposed(n, k, a));
  for (std::size_t i = 0; i < n * n; ++i)
    expected[i] += -2.5 * static_cast<double>(c[i]);
  optim::multiply_by_transpose_large(n, k, a.data(), Stored::plain, -2.5f, c.data());
  expect_product(c, expected, 1e-5);
}

TEST(NewtonSchulz, InBfloat16IsNearThatInFloat64) {
  if (!optim::multiplies_bf16()) GTEST_SKIP() << "this processor does not multiply bfloat16";
  for (const Shape& shape : {Shape{96, 160}, Shape{160, 96}}) {
    const auto g = noise(96 * 160, 4);
    const auto direction = [&]<class T>(T, const std::string& option) {
      Trainee<T> t(
          "{name: muon, adamw_for: none, momentum: 0, scale: match_rms_adamw" + option + "}",
          {{"a", shape}});
      t.step({0, 1.0}, {std::vector<T>(g.begin(), g.end())});
      const std::vector<T> w = t.plain(t.w)[0];
      return std::vector<double>(w.begin(), w.end());
    };
    const auto exact = direction(double{}, ""),
               floats = direction(float{}, ", newton_schulz: float"), bf16 = direction(float{}, "");
    const auto distance = [&](const std::vector<double>& x) {
      std::vector<double> difference = exact;
      for (std::size_t i = 0; i < x.size(); ++i)
        difference[i] -= x[i];
      return norm(difference) / norm(exact);
    };
    EXPECT_LT(distance(floats), 1e-5);
    // A factor keeps 8 bits (2^-9 = 0.002 of rounding) through 15 products, which amplify it.
    EXPECT_LT(distance(bf16), 0.05);
    EXPECT_GT(distance(bf16), 1e-4) << "was this in bfloat16?";
  }
}

TEST(NewtonSchulz, SingularValuesAreThoseOfThePublishedExample) {
  // Muon's direction for the first gradient: 5 iterations in float64. Source: KellerJordan/Muon.
  const double published[] = {0.308398989093, -0.447218977561, 0.687786366404,
                              0.695934845143, 0.263177922259,  -0.229262122135};
  for (const bool tall : {false, true}) {
    Trainee<double> t("{name: muon, adamw_for: none, momentum: 0}",
                      {{"a", tall ? Shape{3, 2} : Shape{2, 3}}});
    std::vector<double> g = kGradients[0];
    if (tall) g = {g[0], g[3], g[1], g[4], g[2], g[5]};
    t.step({0, 1.0}, {g});
    const auto w = t.plain(t.w)[0];
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        EXPECT_NEAR(-w[tall ? 2 * j + i : 3 * i + j] / (tall ? std::sqrt(1.5) : 1),
                    published[3 * i + j], 1e-11);
  }
}

TEST(Muon, TheRestTakesAdamW) {
  const std::vector<test::TraineeShape> shapes{{"embedding.weight", {4, 3}},
                                               {"fc1.weight", {2, 3}},
                                               {"fc1.bias", {2}, false},
                                               {"fc2.weight", {3, 2}}};
  Trainee<double> muon("{name: muon}", shapes);
  Trainee<double> adamw("{name: adamw, weight_decay: 0, beta2: 0.95, epsilon: 1e-10}", shapes);
  for (auto* t : {&muon, &adamw}) {
    Trainee<double>::Values g;
    for (const auto& s : shapes)
      g.push_back(wave<double>(static_cast<std::size_t>(elements(s.shape)), 3));
    t->put(t->w, g);
    t->step({0, t == &muon ? 0.02 : 0.0003}, g);
  }
  const auto a = muon.plain(muon.w), b = adamw.plain(adamw.w);
  for (const std::size_t p : {0, 2, 3})
    for (std::size_t i = 0; i < a[p].size(); ++i)
      EXPECT_NEAR(a[p][i], b[p][i], 1e-15) << shapes[p].name;
  EXPECT_NE(a[1], b[1]);
}

TEST(Shampoo, GraftedStepsHaveTheSizeOfAdams) {
  const std::vector<double> lr{0.1, 0.1, 0.1};
  Trainee<double> shampoo("{name: shampoo, every: 1, epsilon: 1e-4}", {{"a", {2, 3}}});
  Trainee<double> adam("{name: adam}", {{"a", {2, 3}}});
  std::vector<double> before_shampoo = kStart, before_adam = kStart;
  shampoo.put(shampoo.w, {kStart});
  adam.put(adam.w, {kStart});
  for (std::size_t step = 0; step < 3; ++step) {
    const auto moved = [&](Trainee<double>& t, std::vector<double>& before) {
      t.step({static_cast<std::int64_t>(step), 0.1}, {kGradients[step]});
      std::vector<double> difference = t.plain(t.w)[0];
      for (std::size_t i = 0; i < 6; ++i)
        difference[i] -= before[i];
      before = t.plain(t.w)[0];
      return difference;
    };
    const auto a = moved(shampoo, before_shampoo), b = moved(adam, before_adam);
    EXPECT_NEAR(norm(a), norm(b), 1e-12);
    EXPECT_NE(a, b);
  }
}

TEST(Shampoo, LongSidesAndEarlyStepsHaveNoFactor) {
  const std::vector<double> lr{0.1, 0.1, 0.1};
  const auto adam = run("{name: adam}", lr);
  expect_near(run("{name: shampoo, max_dim: 1}", lr), adam);
  expect_near(run("{name: shampoo, start: 4}", lr), adam);
  EXPECT_NE(run("{name: shampoo, max_dim: 2}", lr), run("{name: shampoo}", lr));
}

TEST(Soap, WithoutBasesIsAdamAStepLate) {
  Trainee<double> adam("{name: adamw, beta1: 0.95, beta2: 0.95, weight_decay: 0}", {{"a", {2, 3}}});
  adam.put(adam.w, {kStart});
  for (std::size_t step = 1; step < 3; ++step)
    adam.step({static_cast<std::int64_t>(step) - 1, 0.1}, {kGradients[step]});
  const auto soap = run("{name: soap, max_dim: 1, weight_decay: 0}", {0.1, 0.1, 0.1});
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(soap[i], adam.plain(adam.w)[0][i], 1e-7);  // epsilon stands elsewhere
}

}  // namespace
}  // namespace thalweg::engine
