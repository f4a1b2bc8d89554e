#include "jobspec/distribution.h"

#include <gmock/gmock.h>

#include <cmath>

#include "jobspec/exact_math.h"
#include "jobspec/hash.h"
#include "jobspec/random.h"
#include "jobspec/reader.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const Distribution> make(const std::string& text) {
  Diagnostics diagnostics("f");
  const Value value = read_yaml(text, "f");
  auto distribution = read_distribution(value, "x", diagnostics);
  diagnostics.throw_if_any();
  return distribution;
}

std::string draws(const std::string& text) {
  const auto distribution = make(text);
  std::string found;
  for (const double u : {0.0625, 0.5, 0.9375})
    found += distribution->sample(u).to_text() + " ";
  return found;
}

TEST(Distribution, DrawsAreTheInverseOfTheCumulativeDistribution) {
  EXPECT_EQ(draws("{value: a}"), "a a a ");
  EXPECT_EQ(draws("{values: [a, b, c]}"), "a b c ");
  EXPECT_EQ(draws("{distribution: categorical_w_probabilities, values: [a, b, c], "
                  "probabilities: [0.05, 0.9, 0.05]}"),
            "b b b ");
  EXPECT_EQ(draws("{min: 1, max: 16}"), "2 9 16 ");
  EXPECT_EQ(draws("{min: 0.0, max: 16}"), "1.0 8.0 15.0 ");
  EXPECT_EQ(draws("{distribution: uniform, min: 0, max: 16}"), "1.0 8.0 15.0 ");
  EXPECT_EQ(draws("{distribution: q_uniform, min: 0, max: 16, q: 2}"), "0 8 16 ");  // half to even
  EXPECT_EQ(draws("{distribution: q_uniform, min: 0, max: 16, q: 0.5}"), "1.0 8.0 15.0 ");
}

TEST(Distribution, LogarithmicOnesMatchTheLibrary) {
  const double low = std::log(1e-4), high = std::log(10.0), u = 0.3;
  const double x = std::exp(low + u * (high - low));
  const std::string range = "min: 1e-4, max: 10}";
  EXPECT_NEAR(make("{distribution: log_uniform_values, " + range)->sample(u).as_double() / x, 1,
              1e-14);
  EXPECT_NEAR(make("{distribution: inv_log_uniform_values, " + range)->sample(0.7).as_double() / x,
              1, 1e-14);
  EXPECT_EQ(
      make("{distribution: q_log_uniform_values, min: 10, max: 1000, q: 10}")->sample(0.5).as_int(),
      100);
  EXPECT_NEAR(make("{distribution: log_uniform, min: -4, max: 2}")->sample(0.5).as_double(),
              std::exp(-1), 1e-15);
  EXPECT_NEAR(make("{distribution: inv_log_uniform, min: -4, max: 2}")->sample(0.5).as_double(),
              std::exp(1), 1e-14);
  EXPECT_EQ(make("{distribution: q_log_uniform, min: 0, max: 2}")->sample(0.5).as_int(), 3);
}

TEST(Distribution, OneMinusIsUniformInTheLogarithm) {
  const auto momentum = make("{distribution: one_minus_log_uniform_values, min: 0.9, max: 0.999}");
  EXPECT_NEAR(momentum->sample(0.5).as_double(), 0.99, 1e-14);
  EXPECT_NEAR(momentum->sample(0.25).as_double(), 1 - std::pow(10, -1.5), 1e-14);
  EXPECT_EQ(momentum->bounds()->first.as_double(), 0.9);
  EXPECT_EQ(momentum->bounds()->second.as_double(), 0.999);
}

TEST(Distribution, NormalOnesMatchKnownQuantiles) {
  EXPECT_NEAR(make("{distribution: normal}")->sample(0.975).as_double(), 1.959963984540054, 4e-9);
  EXPECT_NEAR(make("{distribution: normal, mu: 1, sigma: 2}")->sample(0.5).as_double(), 1, 1e-15);
  EXPECT_EQ(make("{distribution: q_normal, mu: 10, sigma: 3, q: 5}")->sample(0.9).as_int(), 15);
  EXPECT_NEAR(make("{distribution: log_normal, mu: 2, sigma: 1}")->sample(0.5).as_double(),
              std::exp(2), 1e-14);
  EXPECT_EQ(make("{distribution: q_log_normal, mu: 2, sigma: 1}")->sample(0.5).as_int(), 7);
}

TEST(Distribution, BetaOnesMatchClosedForms) {
  for (const double u : {0.001, 0.1, 0.5, 0.9, 0.999}) {
    const auto draw = [u](const std::string& text) { return make(text)->sample(u).as_double(); };
    EXPECT_NEAR(draw("{distribution: beta}"), u, 1e-14);
    EXPECT_NEAR(draw("{distribution: beta, a: 3}"), std::cbrt(u), 1e-13);
    EXPECT_NEAR(draw("{distribution: beta, b: 4}"), 1 - std::pow(1 - u, 0.25), 1e-13);
    EXPECT_NEAR(draw("{distribution: beta, a: 0.5, b: 0.5}"),
                std::pow(std::sin(std::acos(-1) * u / 2), 2), 1e-13);
    // I_x(2, 2) = 3 x^2 - 2 x^3
    const double x = draw("{distribution: beta, a: 2, b: 2}");
    EXPECT_NEAR(3 * x * x - 2 * x * x * x, u, 1e-13);
  }
  EXPECT_NEAR(make("{distribution: beta, a: 1e4, b: 1e4}")->sample(0.5).as_double(), 0.5, 1e-9);
  EXPECT_EQ(make("{distribution: q_beta, a: 2, b: 2, q: 0.25}")->sample(0.4).as_double(), 0.5);
  EXPECT_EQ(make("{distribution: q_beta}")->sample(0.7).as_int(), 1);
}

TEST(Distribution, EveryRowHasADocAndAName) {
  const auto docs = distribution_docs();
  EXPECT_EQ(docs.size(), 19u);
  for (const auto& [name, doc] : docs)
    EXPECT_FALSE(doc.empty()) << name;
}

TEST(Distribution, GridsAndBounds) {
  EXPECT_EQ(make("{min: -1, max: 1}")->grid(), (std::vector<Value>{-1, 0, 1}));
  EXPECT_EQ(make("{distribution: q_uniform, min: 0, max: 4, q: 2}")->grid(),
            (std::vector<Value>{0, 2}));
  EXPECT_EQ(make("{distribution: q_uniform, min: 0.5, max: 4, q: 2}")->grid(),
            (std::vector<Value>{0.5, 2.5}));
  EXPECT_FALSE(make("{min: 0.1, max: 1}")->grid());
  EXPECT_FALSE(make("{distribution: q_log_uniform_values, min: 1, max: 4, q: 2}")->grid());
  EXPECT_EQ(make("{distribution: q_uniform, min: 1, max: 9, q: 4}")->bounds()->second, Value(8));
  EXPECT_FALSE(make("{distribution: normal}")->bounds());
}

TEST(Distribution, EndsAreNeverPassed) {
  const double first = 0x1p-53, last = 1 - 0x1p-53;
  const auto integers = make("{min: 0, max: 2000000000000000}");
  EXPECT_EQ(integers->sample(first).as_int(), 0);
  EXPECT_EQ(integers->sample(last).as_int(), 2000000000000000);
  const auto logs = make("{distribution: log_uniform_values, min: 1e-300, max: 0.3}");
  EXPECT_GE(logs->sample(first).as_double(), 1e-300);
  EXPECT_LE(logs->sample(last).as_double(), 0.3);
  EXPECT_EQ(make("{values: [1, 2, 3]}")->sample(last).as_int(), 3);
}

TEST(ExactMath, ExpAndLogAgreeWithTheLibrary) {
  double worst_exp = 0, worst_log = 0;
  for (int i = -70'000; i <= 70'000; ++i) {
    const double x = i * 0.01 + 0.003;
    if (std::fabs(x) > 700) continue;
    worst_exp = std::max(worst_exp, std::fabs(exact_exp(x) / std::exp(x) - 1));
  }
  for (int i = -1'000; i <= 1'000; ++i) {
    for (const double m : {1.0, 1.0000001, 1.1, 1.4142, 1.4143, 1.9, 1.9999999}) {
      const double x = std::ldexp(m, i), log = std::log(x);
      worst_log =
          std::max(worst_log, std::fabs(exact_log(x) - log) / std::max(std::fabs(log), 0.35));
    }
  }
  EXPECT_LT(worst_exp, 4e-16);
  EXPECT_LT(worst_log, 4e-16);
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_log(1), 0);
}

TEST(ExactMath, NormalQuantilesOfTables) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-300);
  EXPECT_NEAR(normal_quantile(0.841344746068543), 1, 2e-9);
  EXPECT_NEAR(normal_quantile(0.01), -2.326347874040841, 5e-9);
  EXPECT_NEAR(normal_quantile(1e-9) / -5.997807015007687, 1, 2e-9);
  EXPECT_EQ(normal_quantile(0.99), -normal_quantile(1 - 0.99));
}

TEST(Random, PhiloxMatchesItsAuthorsVectors) {
  // Random123's kat_vectors, philox4x32 with 10 rounds.
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Random, UniformsFillTheOpenInterval) {
  constexpr int n = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = uniform(1, static_cast<std::uint64_t>(i), 2);
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
  EXPECT_NE(uniform(1, 0, 2), uniform(2, 0, 2));
  EXPECT_NE(uniform(1, 0, 2), uniform(1, 0, 3));
}

TEST(Hash, MurmurMatchesPublishedValues) {
  EXPECT_EQ(to_hex(hash128("")), "00000000000000000000000000000000");
  EXPECT_EQ(to_hex(hash128("hello")), "cbd8a7b341bd9b025b1e906a48ae1d19");
  EXPECT_EQ(to_hex(hash128("The quick brown fox jumps over the lazy dog")),
            "e34bbc7bbc071b6c7a433ca9c49a9347");
}

}  // namespace
}  // namespace thalweg::jobspec
