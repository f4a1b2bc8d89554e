// Rows whose trials have the same seeds are compared by the differences between these. When they
// are, that no more than 5 % of sweeps without any effect claim one (6 % here, for the draws' own
// noise), and what it gains over the ranks of all values.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <limits>

#include "db/analysis/rank_test.h"
#include "jobspec/value.h"
#include "tests/support/nulls.h"

namespace thalweg::db::analysis {
namespace {

constexpr double kMiss = std::numeric_limits<double>::infinity();
using test::Random;
using Seeds = std::vector<std::uint64_t>;

Seeds seeds_from(std::uint64_t first, std::uint64_t last) {
  Seeds seeds;
  for (std::uint64_t seed = first; seed <= last; ++seed)
    seeds.push_back(seed);
  return seeds;
}

TrialRecord trial(int row, std::uint64_t seed, double value) {
  TrialRecord record;
  record.configuration = row + 1;
  record.seed = seed;
  record.state = TrialPhase::finished;
  record.group = {jobspec::Value(row)};
  record.best = value;
  return record;
}

struct Judged {
  std::vector<Contender> rows;
  Tested tested;
};

Judged judged(const std::vector<TrialRecord>& records, bool seeds_pair = true) {
  Judged result;
  const UnitTable table = units_of(records);
  for (const UnitRow& row : table.rows)
    result.rows.push_back({{}, scores_of(row, &TrialRecord::best, false)});
  order(result.rows);
  result.tested = judge(result.rows, table.by_seeds ? "seed" : "configuration", seeds_pair);
  return result;
}

/// Row 1 is worse than row 0 by a little more each seed; seeds differ by much.
std::vector<TrialRecord> shifted(const Seeds& of_first, const Seeds& of_second) {
  std::vector<TrialRecord> records;
  for (const std::uint64_t seed : of_first)
    records.push_back(trial(0, seed, 10.0 * static_cast<double>(seed)));
  for (const std::uint64_t seed : of_second)
    records.push_back(trial(1, seed, 10.1 * static_cast<double>(seed)));
  return records;
}

TEST(SignedRanks, AreThoseOfDarwinsMaize) {
  // Heights of 15 pairs of plants, in eighths of an inch (Fisher, The Design of Experiments, 1935,
  // section 17); V = 96, p = 0.04126 by R's wilcox.test().
  const std::vector<double> maize{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48};
  const RankTest test = signed_rank_test(maize);
  EXPECT_NEAR(test.p, 0.04126, 5e-6);
  EXPECT_EQ(test.direction, 1);
  EXPECT_NEAR(test.smallest, 2.0 / 32768, 1e-12);
}

TEST(SignedRanks, TakeTiesZerosAndMisses) {
  // Ranks 1.5, 1.5, 3, and 4 of a miss; of 16 ways two are as extreme.
  EXPECT_NEAR(signed_rank_test({-1, -1, -2, -kMiss}).p, 2.0 / 16, 1e-12);
  EXPECT_EQ(signed_rank_test({-1, -1, -2, -kMiss}).direction, -1);
  // 0 has rank 1 and no sign; 2.5, 2.5, 4: sums 9, 4 (twice), 1 (twice) and their opposites.
  EXPECT_NEAR(signed_rank_test({0, 1, -1, 3}).p, 6.0 / 8, 1e-12);
  EXPECT_EQ(signed_rank_test({0, 0, 0}).p, 1);
  EXPECT_EQ(signed_rank_test({1, -1}).direction, 0);
}

TEST(SignedRanks, OfManyByTheNormalApproximationAreCloseToTheExactOnes) {
  std::vector<double> differences;
  for (int i = 0; i < 100; ++i)
    differences.push_back((i % 5 < 2 ? -1 : 1) * (1 + 0.01 * i));
  const double exact = signed_rank_test(differences).p;
  differences.push_back(1e-9);  // the smallest: next to nothing is added
  EXPECT_GT(exact, 0.001);
  EXPECT_NEAR(signed_rank_test(differences).p, exact, 2e-3);
}

TEST(SeedPairs, TellApartWhatSeedsHide) {
  const Judged pairs = judged(shifted(seeds_from(1, 6), seeds_from(1, 6)));
  EXPECT_EQ(pairs.tested.by_seed, 1u);
  EXPECT_NEAR(*pairs.rows[1].row.p, 2.0 / 64, 1e-12);
  EXPECT_EQ(pairs.rows[1].row.verdict, "worse (p=0.031)");
  const Judged ranks = judged(shifted(seeds_from(1, 6), seeds_from(1, 6)), false);
  EXPECT_EQ(ranks.tested.by_seed, 0u);
  EXPECT_GT(*ranks.rows[1].row.p, 0.5);
}

TEST(SeedPairs, AreLeftWhereTheyCouldNotTell) {
  const auto by_seed = [](const Seeds& of_first, const Seeds& of_second) {
    return judged(shifted(of_first, of_second)).tested.by_seed;
  };
  EXPECT_EQ(by_seed(seeds_from(1, 5), seeds_from(1, 5)), 0u) << "5 differences: p >= 1/16";
  EXPECT_EQ(by_seed(seeds_from(1, 8), seeds_from(9, 16)), 0u) << "no seed in common";
  EXPECT_EQ(by_seed(seeds_from(1, 8), seeds_from(1, 6)), 1u) << "three quarters";
  EXPECT_EQ(by_seed(seeds_from(1, 9), seeds_from(1, 6)), 0u) << "less";
  EXPECT_EQ(by_seed(seeds_from(1, 8), seeds_from(3, 10)), 1u);
  // 4 and 5 seeds have the verdicts that the ranks of all values give.
  std::vector<TrialRecord> four;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    four.push_back(trial(0, seed, static_cast<double>(seed)));
    four.push_back(trial(1, seed, static_cast<double>(seed) + 10));
  }
  EXPECT_EQ(judged(four).rows[1].row.verdict, "worse (p=0.029)");
}

TEST(SeedPairs, NeedMoreSeedsOfMoreRows) {
  // 2 / 2^n after correction for 1, 3, 6 and 10 pairs of rows.
  const std::pair<int, std::uint64_t> needed[] = {{2, 6}, {3, 7}, {4, 8}, {5, 9}};
  for (const auto& [rows, least] : needed)
    for (const std::uint64_t count : {least - 1, least}) {
      std::vector<TrialRecord> records;
      for (int row = 0; row < rows; ++row)
        for (std::uint64_t seed = 1; seed <= count; ++seed)
          records.push_back(trial(row, seed, (100.0 + row) * static_cast<double>(seed)));
      const Judged result = judged(records);
      EXPECT_EQ(result.tested.by_seed, count < least ? 0u : static_cast<std::size_t>(rows) - 1)
          << rows << " rows, " << count << " seeds";
      if (count == least) {
        EXPECT_TRUE(result.rows[1].row.verdict.starts_with("worse"));
      }
    }
}

/// Rows without a difference, whose seeds have something in common.
struct Sharing {
  std::string name;
  int rows = 2;
  Seeds seeds;
  double share = 0.6;            ///< of the variance that is the seed's own: the rows' correlation
  std::vector<Seeds> of_rows{};  ///< where rows have unlike seeds
  double spread = 1;             ///< of row 0
  double step = 0;               ///< to which values are rounded: ties
  double missed = kMiss;         ///< values above are infinite
  double lost = 0;               ///< share of trials without a value
};

void PrintTo(const Sharing& design, std::ostream* out) {
  *out << design.name;
}

std::vector<TrialRecord> draw(const Sharing& design, Random& random, double shift) {
  std::map<std::uint64_t, double> of_seed;
  std::vector<TrialRecord> records;
  for (int row = 0; row < design.rows; ++row)
    for (const std::uint64_t seed :
         design.of_rows.empty() ? design.seeds : design.of_rows[static_cast<std::size_t>(row)]) {
      const auto [shared, fresh] = of_seed.try_emplace(seed, 0);
      if (fresh) shared->second = random.normal();
      double value =
          std::sqrt(design.share) * shared->second + std::sqrt(1 - design.share) * random.normal();
      value = (row == 0 ? design.spread : 1) * value - (row == 0 ? shift : 0);
      if (design.step > 0) value = design.step * std::round(value / design.step);
      TrialRecord record = trial(row, seed, value > design.missed ? kMiss : value);
      if (design.lost > 0 && random.uniform() < design.lost)
        record.best = std::numeric_limits<double>::quiet_NaN();
      records.push_back(record);
    }
  return records;
}

const Sharing kSharing[] = {
    {"Rows2Seeds6Alone", 2, seeds_from(1, 6), 0},
    {"Rows2Seeds6", 2, seeds_from(1, 6)},
    {"Rows2Seeds8Alone", 2, seeds_from(1, 8), 0},
    {"Rows2Seeds8Alike", 2, seeds_from(1, 8), 0.95},
    {"Rows2Seeds10", 2, seeds_from(1, 10), 0.3},
    {"Rows4Seeds8", 4, seeds_from(1, 8)},
    {"Rows4Seeds10Alone", 4, seeds_from(1, 10), 0},
    {"Rows8Seeds12", 8, seeds_from(1, 12)},
    {"Rows4Seeds10Ties", 4, seeds_from(1, 10), 0.6, {}, 1, 0.5},
    {"Rows2Seeds7Ties", 2, seeds_from(1, 7), 0.6, {}, 1, 1},
    {"Rows2Seeds8Misses", 2, seeds_from(1, 8), 0.6, {}, 1, 0, 0.3},
    {"Rows4Seeds10MissesAndTies", 4, seeds_from(1, 10), 0.6, {}, 1, 0.5, 0.6},
    {"Rows3UnlikeSeeds", 3, {}, 0.6, {seeds_from(1, 10), seeds_from(3, 12), seeds_from(1, 6)}},
    {"Rows2Seeds8And7", 2, {}, 0.6, {seeds_from(1, 8), seeds_from(2, 8)}},
    {"Rows2Seeds9Lost", 2, seeds_from(1, 9), 0.6, {}, 1, 0, kMiss, 0.15},
    {"Rows2Seeds8UnequalSpread", 2, seeds_from(1, 8), 0, {}, 8},
    {"Rows5Seeds10UnequalSpread", 5, seeds_from(1, 10), 0.6, {}, 8},
};

class SeedPairNulls : public ::testing::TestWithParam<Sharing> {};

TEST_P(SeedPairNulls, AreAtMostAsManyAsSaid) {
  const Sharing& design = GetParam();
  const auto share = [&](int draws, double shift) {
    return test::share_of(draws, 20261129, [&](Random& random) {
      return test::claims(draw(design, random, shift), &TrialRecord::best);
    });
  };
  const double alike = share(10000, 0);
  std::cout << fmt::format("{:28} false {:5.2f} %, found with a shift of 1: {:.0f} %\n",
                           design.name, 100 * alike, 100 * share(500, 1));
  EXPECT_LE(alike, 0.06);
}

INSTANTIATE_TEST_SUITE_P(Designs, SeedPairNulls, ::testing::ValuesIn(kSharing),
                         [](const auto& test) { return test.param.name; });

/// How often a shift is found, by differences and by the ranks of all values.
struct Power {
  double by_seed, by_ranks;
};

Power power_of(const Sharing& design, double shift, int draws) {
  const auto share = [&](bool pair) {
    return test::share_of(draws, 20261129, [&](Random& random) {
      return judged(draw(design, random, shift), pair).rows[1].row.verdict.starts_with("worse");
    });
  };
  return {share(true), share(false)};
}

TEST(SeedPairs, GainWhereSeedsShareAThird) {
  for (const int rows : {2, 4})
    for (const std::uint64_t seeds : {5, 6, 8, 10})
      for (const double shared : {0.0, 0.3, 0.6, 0.9}) {
        const Sharing design{"", rows, seeds_from(1, seeds), shared};
        const double shift = rows == 2 ? 1.4 : 1.8;
        const Power power = power_of(design, shift * std::sqrt(1 - 0.8 * shared), 1000);
        std::cout << fmt::format(
            "{} rows, {:2} seeds, correlation {:.1f}: found {:3.0f} % by differences, {:3.0f} % by "
            "ranks\n",
            rows, seeds, shared, 100 * power.by_seed, 100 * power.by_ranks);
        if (seeds == 5)
          EXPECT_EQ(power.by_seed, power.by_ranks);
        else if (shared > 0.5 && (rows == 2 || seeds > 6))
          EXPECT_GT(power.by_seed, power.by_ranks) << seeds;
        else
          EXPECT_GT(power.by_seed, power.by_ranks - 0.2) << seeds;
      }
}

}  // namespace
}  // namespace thalweg::db::analysis
