// Looks at seeds: which test is made, what closes a configuration, and that in no more than 5 % of
// sweeps without any difference one is claimed (6 % here, for the draws' own noise), neither by a
// look nor by what `compare` says afterwards.
#include "db/analysis/seed_looks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <iostream>
#include <limits>

#include "tests/support/nulls.h"

namespace thalweg::db::analysis {
namespace {

using test::Random;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kWorst = std::numeric_limits<double>::infinity();

std::vector<Score> seeds_with(const std::vector<double>& values) {
  std::vector<Score> scores;
  for (std::size_t i = 0; i < values.size(); ++i)
    scores.push_back({values[i], {}, i + 1});
  return scores;
}

std::vector<std::int64_t> closed_by(const SeedLook& look) {
  std::vector<std::int64_t> rows;
  for (const ClosedRow& row : look.closed)
    rows.push_back(row.configuration);
  return rows;
}

TEST(SeedLooks, TakeSignedRanksWhereTheyReachTheLevel) {
  // Every seed is a little better in a, and seeds differ by much more.
  const auto a = seeds_with({1, 11, 21, 31, 41, 51}), b = seeds_with({2, 13, 24, 35, 46, 57});
  EXPECT_NEAR(test_at_look(a, b, 0.05).p, 2.0 / 64, 1e-12);
  EXPECT_EQ(test_at_look(a, b, 0.05).direction, -1);
  EXPECT_GT(test_at_look(a, b, 0.03).p, 0.5) << "1/32 is above the level: ranks of all values";
  EXPECT_NEAR(test_at_look(seeds_with({1, 2, 3, 4}), seeds_with({5, 6, 7, 8}), 0.05).p, 2.0 / 70,
              1e-12);
}

TEST(SeedLooks, CloseWhatIsWorseThanTheBestMedian) {
  const std::vector<SeedRow> open{{1, seeds_with({5, 6, 7, 8, 9, 10})},
                                  {2, seeds_with({1, 2, 3, 4, 5, 6})},
                                  {3, seeds_with({21, 22, 23, 24, 25, 26})}};
  const SeedLook look = look_at(open, 0.05 / 9);
  EXPECT_EQ(look.best, 2);
  EXPECT_THAT(closed_by(look), ElementsAre(3));
  EXPECT_EQ(look.closed[0].best, 2);
  EXPECT_NEAR(look.closed[0].p, 2.0 / 924, 1e-12);
  EXPECT_THAT(closed_by(look_at(open, 0.001)), IsEmpty()) << "2 / C(12, 6) is above the level";
}

TEST(SeedLooks, DivergedSeedsAreTheWorstAndRowsWithoutValuesAreClosed) {
  const SeedLook look = look_at({{1, seeds_with({1, 2, 3, 4, 5, 6})},
                                 {2, seeds_with({kWorst, kWorst, kWorst, kWorst, kWorst, kWorst})},
                                 {3, {}}},
                                0.05 / 9);
  EXPECT_EQ(look.best, 1);
  EXPECT_THAT(closed_by(look), ElementsAre(2, 3));
  EXPECT_EQ(look.closed[1].best, 0);
  EXPECT_THAT(look_at({{1, {}}, {2, {}}}, 0.01).best, 0);
}

Contender contender(const std::vector<Score>& scores) {
  return {{}, scores};
}

TEST(SeedLooks, VerdictsAreThoseOfTheLooksTimesTheirNumber) {
  const jobspec::SeedPlan plan{{6, 11, 16}, 2};
  // Closed after 6 seeds; the other row went on, and its later seeds are as bad.
  std::vector<Contender> rows{contender(seeds_with({1, 2, 3, 4, 5, 6, 30, 30, 30, 30, 30})),
                              contender(seeds_with({21, 22, 23, 24, 25, 26}))};
  judge_at_looks(rows, plan, 2);
  EXPECT_EQ(rows[1].row.verdict, "worse (p=0.0065)") << "2 / 924 times 3 looks";
  EXPECT_NEAR(*rows[1].row.p, 3 * 2.0 / 924, 1e-9);
  judge_at_looks(rows, plan, 0);
  EXPECT_EQ(rows[1].row.verdict, "not tested") << "values between looks say nothing";
  rows = {contender(seeds_with({1, 2})), contender(seeds_with({11, 12}))};
  judge_at_looks(rows, {{2, 3}, 2}, 1);
  EXPECT_EQ(rows[1].row.verdict, "2 seeds, 5 needed");
}

/// A sweep without a difference, or with row 0 better by `shift`.
struct LookDesign {
  std::string name;
  int rows = 2;
  double share = 0;  ///< of the variance that is the seed's own
  double step = 0;   ///< to which values are rounded: ties
  double lost = 0;   ///< share of trials without a value
};

void PrintTo(const LookDesign& design, std::ostream* out) {
  *out << design.name;
}

struct Taken {
  bool claims = false;
  int told = 0;  ///< rows called worse than row 0 by compare
  std::int64_t trials = 0;
};

double draw(const LookDesign& design, Random& random, double of_seed, double shift) {
  const double value =
      std::sqrt(design.share) * of_seed + std::sqrt(1 - design.share) * random.normal() - shift;
  return design.step > 0 ? design.step * std::round(value / design.step) : value;
}

/// As the controller takes the looks, then as compare judges.
Taken take(const LookDesign& design, const jobspec::SeedPlan& plan, Random& random, double shift) {
  std::vector<SeedRow> open(static_cast<std::size_t>(design.rows));
  for (int row = 0; row < design.rows; ++row)
    open[static_cast<std::size_t>(row)].configuration = row + 1;
  std::vector<SeedRow> closed;
  Taken result;
  std::int64_t seed = 0;
  std::size_t taken = 0;
  for (const std::int64_t until : plan.looks) {
    while (seed < until) {
      ++seed;
      const double of_seed = random.normal();
      for (SeedRow& row : open) {
        const double value = draw(design, random, of_seed, row.configuration == 1 ? shift : 0);
        ++result.trials;
        if (design.lost == 0 || random.uniform() >= design.lost)
          row.scores.push_back({value, {}, static_cast<std::uint64_t>(seed)});
      }
    }
    ++taken;
    const SeedLook look = look_at(open, plan.level());
    for (const ClosedRow& row : look.closed) {
      result.claims = result.claims || row.best != 0;
      const auto it = std::find_if(open.begin(), open.end(), [&](const SeedRow& each) {
        return each.configuration == row.configuration;
      });
      closed.push_back(*it);
      open.erase(it);
    }
    if (open.size() < 2) break;
  }
  open.insert(open.end(), closed.begin(), closed.end());
  std::vector<Contender> contenders;
  for (const SeedRow& row : open) {
    contenders.push_back(contender(row.scores));
    contenders.back().row.configurations = row.configuration;
  }
  order(contenders);
  judge_at_looks(contenders, plan, taken);
  const bool first = contenders.front().row.configurations == 1;
  for (const Contender& each : contenders) {
    const bool worse = each.row.verdict.starts_with("worse");
    result.claims = result.claims || worse || each.row.verdict.starts_with("different");
    result.told += worse && first ? 1 : 0;
  }
  return result;
}

class SeedLookNulls : public ::testing::TestWithParam<LookDesign> {};

TEST_P(SeedLookNulls, AreAtMostAsManyAsSaid) {
  const LookDesign& design = GetParam();
  const jobspec::SeedPlan plan = jobspec::seed_plan({}, design.rows);
  const double alike = test::share_of(
      10000, 20261129, [&](Random& random) { return take(design, plan, random, 0).claims; });
  std::string line = fmt::format("{:20} false {:5.2f} %", design.name, 100 * alike);
  for (const double shift : {1.5, 3.0}) {
    Random random(7);
    constexpr int draws = 500;
    double told = 0, trials = 0;
    for (int i = 0; i < draws; ++i) {
      const Taken of_one = take(design, plan, random, shift * std::sqrt(1 - 0.8 * design.share));
      told += of_one.told;
      trials += static_cast<double>(of_one.trials);
    }
    line += fmt::format("; shift {}: {:.0f} % of rows told apart, {:.1f} of {} trials", shift,
                        100 * told / draws / (design.rows - 1), trials / draws, plan.max_trials());
    if (shift > 2) {
      EXPECT_LT(trials / draws, 0.85 * static_cast<double>(plan.max_trials())) << shift;
    }
  }
  std::cout << line << '\n';
  EXPECT_LE(alike, 0.06);
}

INSTANTIATE_TEST_SUITE_P(
    Looks, SeedLookNulls,
    ::testing::Values(LookDesign{"Rows2", 2}, LookDesign{"Rows2Sharing", 2, 0.6},
                      LookDesign{"Rows4Sharing", 4, 0.6}, LookDesign{"Rows8", 8},
                      LookDesign{"Rows8Sharing", 8, 0.6}, LookDesign{"Rows4Ties", 4, 0.6, 0.5},
                      LookDesign{"Rows4Lost", 4, 0.3, 0, 0.1}, LookDesign{"Rows4", 4}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::db::analysis
