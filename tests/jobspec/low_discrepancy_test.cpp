// The sequences behind `method: sobol` and `method: halton`: as published, and scrambled.
#include "jobspec/search/low_discrepancy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "jobspec/search/search.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

/// scipy.stats.qmc.Sobol(64, scramble=False) of SciPy 1.17.1, which takes Joe and Kuo's numbers,
/// too: points 1 to 5, 17, 42 and 63, dimensions 0, 1, 2, 3, 5, 10, 31 and 63.
TEST(SobolSequence, IsThatOfSciPy) {
  const std::size_t dimensions[] = {0, 1, 2, 3, 5, 10, 31, 63};
  const struct {
    std::uint64_t number;
    double x[8];
  } rows[] = {{1, {.5, .5, .5, .5, .5, .5, .5, .5}},
              {2, {.75, .25, .25, .25, .75, .75, .25, .75}},
              {3, {.25, .75, .75, .75, .25, .25, .75, .25}},
              {4, {.375, .375, .625, .875, .125, .875, .125, .125}},
              {5, {.875, .875, .125, .375, .625, .375, .625, .625}},
              {17, {.59375, .96875, .96875, .15625, .46875, .59375, .84375, .59375}},
              {42, {.984375, .328125, .015625, .734375, .484375, .078125, .078125, .015625}},
              {63, {.015625, .796875, .359375, .453125, .140625, .421875, .921875, .734375}}};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(sobol_coordinate(sobol_directions(dimensions[i]), row.number) * 0x1p-32, row.x[i])
          << row.number << " " << dimensions[i];
}

/// scipy.stats.qmc.Halton(6, scramble=False) of SciPy 1.17.1.
TEST(HaltonSequence, IsThatOfSciPy) {
  const struct {
    std::uint64_t number;
    double x[6];
  } rows[] = {{1, {.5, .33333333, .2, .14285714, .09090909, .07692308}},
              {2, {.25, .66666667, .4, .28571429, .18181818, .15384615}},
              {3, {.75, .11111111, .6, .42857143, .27272727, .23076923}},
              {10, {.3125, .37037037, .08, .44897959, .90909091, .76923077}},
              {99, {.7734375, .0781893, .984, .14868805, .07438017, .65680473}}};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(radical_inverse(row.number, prime_number(i)), row.x[i], 5e-9) << row.number;
}

using Points = std::vector<std::vector<double>>;

Points points_of(const std::string& method, std::size_t dimensions, std::uint64_t count,
                 std::uint64_t seed) {
  Sweep sweep;
  sweep.seed = seed;
  Groups groups;
  for (std::size_t i = 0; i < dimensions; ++i) {
    sweep.axes.push_back({"x" + std::to_string(i), {}, nullptr});
    groups.push_back({i});
  }
  const Draw draw = search_methods().at(method).draw(sweep, groups);
  Points points;
  for (std::uint64_t number = 0; number < count; ++number) {
    points.emplace_back();
    for (std::size_t i = 0; i < dimensions; ++i)
      points.back().push_back(draw(number, i));
  }
  return points;
}

/// Of the first base^k points of a coordinate one lies in each of as many equal intervals.
TEST(ScrambledSequences, FillEachCoordinateEvenly) {
  for (const std::uint64_t seed : {1u, 2u, 77u}) {
    const Points sobol = points_of("sobol", sobol_dimensions, 64, seed);
    for (std::size_t i = 0; i < sobol_dimensions; ++i) {
      std::set<int> intervals;
      for (const auto& x : sobol)
        intervals.insert(static_cast<int>(x[i] * 64));
      EXPECT_EQ(intervals.size(), 64u) << i;
    }
    for (std::size_t i = 0; i < 6; ++i) {
      const std::uint32_t base = prime_number(i), count = base * base;
      std::set<int> intervals;
      for (const auto& x : points_of("halton", 6, count, seed))
        intervals.insert(static_cast<int>(x[i] * count));
      EXPECT_EQ(intervals.size(), count) << i;
    }
  }
}

/// The first two of Sobol's dimensions are a (0, m, 2)-net whatever the scrambling.
TEST(ScrambledSequences, SobolsPlaneIsANet) {
  for (const std::uint64_t seed : {1u, 5u}) {
    const Points points = points_of("sobol", 2, 64, seed);
    for (const int wide : {1, 2, 4, 8, 16, 32, 64}) {
      std::set<std::pair<int, int>> boxes;
      for (const auto& x : points)
        boxes.insert({static_cast<int>(x[0] * wide), static_cast<int>(x[1] * (64.0 / wide))});
      EXPECT_EQ(boxes.size(), 64u) << wide;
    }
  }
}

/// The mean square, over all boxes at the origin, of how far the share of points is from the
/// volume (Warnock 1972).
double discrepancy(const Points& points) {
  const double n = static_cast<double>(points.size()), d = static_cast<double>(points[0].size());
  double single = 0, pairs = 0;
  for (const auto& x : points) {
    double product = 1;
    for (const double each : x)
      product *= (1 - each * each) / 2;
    single += product;
    for (const auto& y : points) {
      product = 1;
      for (std::size_t i = 0; i < x.size(); ++i)
        product *= 1 - std::max(x[i], y[i]);
      pairs += product;
    }
  }
  return std::pow(3, -d) - 2 / n * single + pairs / (n * n);
}

TEST(ScrambledSequences, AreMoreEvenThanRandomPoints) {
  for (const std::string method : {"sobol", "halton"})
    for (const std::size_t dimensions : {2u, 6u})
      for (std::uint64_t seed = 1; seed <= 8; ++seed)
        EXPECT_LT(discrepancy(points_of(method, dimensions, 128, seed)),
                  discrepancy(points_of("random", dimensions, 128, seed)))
            << method << " " << dimensions << " " << seed;
}

/// Shifted only, it need not beat every lucky draw.
TEST(ScrambledSequences, RichtmyersPointsAreMoreEvenInTheMean) {
  for (const std::size_t dimensions : {2u, 6u}) {
    double sum = 0, drawn = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      sum += discrepancy(points_of("richtmyer", dimensions, 100, seed));
      drawn += discrepancy(points_of("random", dimensions, 100, seed));
    }
    EXPECT_LT(sum, drawn) << dimensions;
  }
}

TEST(ScrambledSequences, SobolSaysHowManyParametersItCanDo) {
  const auto file = [](std::size_t count, const std::string& method) {
    std::string text = "program: f\nmethod: " + method +
                       "\nrun_cap: 2\nmetric: {name: loss, goal: minimize}\nparameters:\n";
    for (std::size_t i = 0; i < count; ++i)
      text += "  x" + std::to_string(i) + ": {min: 0.0, max: 1.0}\n";
    return text;
  };
  EXPECT_THAT(diagnostics(file(64, "sobol")), testing::IsEmpty());
  EXPECT_THAT(diagnostics(file(100, "halton")), testing::IsEmpty());
  const auto found = diagnostics(file(65, "sobol"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].to_string(),
              testing::HasSubstr("2: method: found 65 parameters to draw, expected at most 64 with "
                                 "method: sobol (use method: random)"));
}

}  // namespace
}  // namespace thalweg::jobspec
