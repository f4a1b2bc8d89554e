// Are the verdicts honest? Sweeps are drawn in which the parameter that makes the rows has no
// effect at all, while other parameters, configurations and seeds do; then no more than 5 % of them
// may call any row worse or different (6 % here, for the draws' own noise). How often a real
// difference is found is printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <map>

#include "db/analysis/bootstrap.h"
#include "db/analysis/improvement.h"
#include "db/analysis/rank_test.h"
#include "db/analysis/statistic.h"
#include "jobspec/value.h"
#include "tests/support/nulls.h"

namespace thalweg::db::analysis {
namespace {

constexpr int kDraws = 10000;
constexpr double kMissed = std::numeric_limits<double>::infinity();

using test::Random;

/// One configuration: the row that it is in, and the values of two other parameters.
struct Configuration {
  int row = 0;
  double lr = 0;
  int decay = 0;
};

struct Design {
  std::string name;
  int seeds = 1;
  std::function<std::vector<Configuration>(Random&)> configurations;
  double shift = 1;     ///< of row 0 where power is measured; seeds have deviation 1
  double own = 0.5;     ///< deviation of what is each configuration's own
  bool misses = false;  ///< values are steps to a target that some never reach
  std::vector<std::size_t> best_over{};  ///< 0: lr, 1: decay
  double spread = 1;                     ///< of row 0's seeds
  int seeds_of_others = 0;               ///< of rows but the first, where not `seeds`
  bool own_decay = false;                ///< row 0 alone has a decay
  double interaction = 0;                ///< deviation of what a learning rate does to a row
  double lost = 0;                       ///< share of trials that end without a value
  Statistic statistic = Statistic::median;
};

void PrintTo(const Design& design, std::ostream* out) {
  *out << design.name;
}

std::vector<TrialRecord> draw(const Design& design, Random& random, double shift) {
  std::vector<double> of_seed;
  for (int i = 0; i < design.seeds; ++i)
    of_seed.push_back(0.5 * random.normal());
  std::vector<TrialRecord> records;
  std::map<std::pair<int, double>, double> interactions;
  std::int64_t number = 0;
  for (const Configuration& configuration : design.configurations(random)) {
    const double of_configuration =
        3 * std::pow(configuration.lr - 0.5, 2) * 4 + (design.own_decay ? 0 : configuration.decay) +
        design.own * random.normal() - (configuration.row == 0 ? shift : 0);
    const bool first = configuration.row == 0;
    double of_pair = 0;
    if (design.interaction > 0) {
      const auto [known, fresh] = interactions.try_emplace({configuration.row, configuration.lr});
      if (fresh) known->second = design.interaction * random.normal();
      of_pair = known->second;
    }
    ++number;
    const int seeds = first || design.seeds_of_others == 0 ? design.seeds : design.seeds_of_others;
    for (int seed = 0; seed < seeds; ++seed) {
      TrialRecord record;
      record.configuration = number;
      record.seed = static_cast<std::uint64_t>(seed) + 1;
      record.state = TrialPhase::finished;
      record.group = {jobspec::Value(configuration.row)};
      record.others = {jobspec::Value(configuration.lr), jobspec::Value(configuration.decay)};
      if (design.own_decay && !first) record.others[1] = {};
      record.best = of_configuration + of_pair + of_seed[static_cast<std::size_t>(seed)] +
                    (first ? design.spread : 1) * random.normal();
      if (design.misses) {
        record.best = record.best > 2.5 ? kMissed : std::round(4 * record.best);
      }
      if (design.lost > 0 && random.uniform() < design.lost) {
        record.best = kUnknown;
        record.state = TrialPhase::failed;
      }
      records.push_back(record);
    }
  }
  return records;
}

double share_of_claims(const Design& design, int draws, double shift) {
  return test::share_of(draws, 20261122, [&](Random& random) {
    return test::claims(draw(design, random, shift), &TrialRecord::best, design.best_over,
                        {.statistic = design.statistic});
  });
}

/// As random search draws: the row too.
auto drawn(int count, std::vector<double> probabilities, bool decays = false) {
  return [=](Random& random) {
    std::vector<Configuration> all;
    for (int i = 0; i < count; ++i) {
      int row = 0;
      for (double u = random.uniform(); u > probabilities[static_cast<std::size_t>(row)]; ++row)
        u -= probabilities[static_cast<std::size_t>(row)];
      all.push_back({row, random.uniform(), decays ? random.below(2) : 0});
    }
    return all;
  };
}

/// Every row with the same draws of the other parameters.
auto each(int rows, int draws) {
  return [=](Random& random) {
    std::vector<Configuration> all;
    for (int i = 0; i < draws; ++i) {
      const double lr = random.uniform();
      for (int row = 0; row < rows; ++row)
        all.push_back({row, lr, 0});
    }
    return all;
  };
}

auto grid(int rows, int lrs, int decays) {
  return [=](Random&) {
    std::vector<Configuration> all;
    for (int row = 0; row < rows; ++row) {
      for (int lr = 0; lr < lrs; ++lr) {
        for (int decay = 0; decay < decays; ++decay)
          all.push_back({row, (lr + 0.5) / lrs, decay});
      }
    }
    return all;
  };
}

/// As grid(), but row 0 alone has decays, which do nothing.
auto conditional(int lrs, int decays) {
  return [=](Random&) {
    std::vector<Configuration> all;
    for (int lr = 0; lr < lrs; ++lr) {
      for (int decay = 0; decay < decays; ++decay)
        all.push_back({0, (lr + 0.5) / lrs, decay});
      all.push_back({1, (lr + 0.5) / lrs, 0});
    }
    return all;
  };
}

const std::vector<double> kTwo{0.5, 0.5}, kFour{0.45, 0.25, 0.2, 0.1};
constexpr Statistic kMean = Statistic::mean;

const Design kDesigns[] = {
    {"Random6x8", 8, drawn(6, kTwo), 3},
    {"Random12x3", 3, drawn(12, kTwo), 2},
    {"Random16x5", 5, drawn(16, kTwo), 2},
    {"Random24x2FourUnequalRows", 2, drawn(24, kFour), 3},
    {"Random20x2WithTwoDecays", 2, drawn(20, kTwo, true), 2},
    {"Each2Rows8Draws3Seeds", 3, each(2, 8), 1},
    {"Each4Rows12Draws2Seeds", 2, each(4, 12), 1},
    {"Grid2x8x3Seeds", 3, grid(2, 8, 1), 1},
    {"Grid3x6x2x2Seeds", 2, grid(3, 6, 2), 1},
    {"Grid4x7x2x2SeedsWithMisses", 2, grid(4, 7, 2), 1, 0.5, true},
    {"Single2Rows8Seeds", 8, grid(2, 1, 1), 1.5, 0},
    {"Single5Rows8Seeds", 8, grid(5, 1, 1), 1.5, 0},
    {"Single16Rows8Seeds", 8, grid(16, 1, 1), 1.5, 0},
    {"Single4Rows6SeedsWithMisses", 6, grid(4, 1, 1), 1.5, 0, true},
    {"Single2Rows20And6SeedsUnequalSpread", 20, grid(2, 1, 1), 2, 0, false, {}, 1.0 / 6, 6},
    {"Single2Rows6And20SeedsUnequalSpread", 6, grid(2, 1, 1), 4, 0, false, {}, 6, 20},
    {"Single2Rows8SeedsUnequalSpread", 8, grid(2, 1, 1), 5, 0, false, {}, 8},
    {"Single5Rows8SeedsUnequalSpread", 8, grid(5, 1, 1), 5, 0, false, {}, 8},
    {"Grid2x8x2SeedsUnequalSpread", 2, grid(2, 8, 1), 4, 0.5, false, {}, 6},
    {"ConditionalDecayWithInteraction", 2, conditional(8, 3), 2, 0.2, false, {}, 1, 0, true, 1},
    {"ConditionalDecay", 2, conditional(8, 3), 2, 0.2, false, {}, 1, 0, true},
    {"Single4Rows8SeedsLost", 8, grid(4, 1, 1), 1.5, 0, false, {}, 1, 0, false, 0, 0.25},
    {"Grid2x8x2SeedsLost", 2, grid(2, 8, 1), 1, 0.5, false, {}, 1, 0, false, 0, 0.25},
    {"BestOverLr2Rows10SeedsLost", 10, grid(2, 6, 1), 1.5, 0, false, {0}, 1, 0, false, 0, 0.25},
    {"BestOverLr2Rows8Seeds", 8, grid(2, 6, 1), 1.5, 0, false, {0}},
    {"BestOverLr4Rows10Seeds", 10, grid(4, 6, 1), 1.5, 0, false, {0}},
    {"BestOverLrWithTwoDecays4Seeds", 4, grid(2, 4, 6), 1.5, 0.5, false, {0}},
    {"BestOverEachOf6Draws8Seeds", 8, each(2, 6), 1.5, 0, false, {0}},
    {"BestOverOtherDraws8Seeds", 8, drawn(12, kTwo), 1.5, 0, false, {0}},
    {"Single2Rows8SeedsByMeans", 8, grid(2, 1, 1), 1.5, 0, false, {}, 1, 0, false, 0, 0, kMean},
    {"Single5Rows8SeedsByMeans", 8, grid(5, 1, 1), 1.5, 0, false, {}, 1, 0, false, 0, 0, kMean},
    {"Grid2x8x3SeedsByMeans", 3, grid(2, 8, 1), 1, 0.5, false, {}, 1, 0, false, 0, 0, kMean},
    {"Random24x2ByMeans", 2, drawn(24, kTwo), 2, 0.5, false, {}, 1, 0, false, 0, 0, kMean},
};

class FalsePositives : public ::testing::TestWithParam<Design> {};

TEST_P(FalsePositives, AreAtMostAsManyAsSaid) {
  const Design& design = GetParam();
  const double alike = share_of_claims(design, kDraws, 0);
  const double apart = share_of_claims(design, kDraws / 20, design.shift);
  std::cout << fmt::format("{:34} false {:5.2f} %, found with a shift of {}: {:.0f} %\n",
                           design.name, 100 * alike, design.shift, 100 * apart);
  EXPECT_LE(alike, 0.06);
}

INSTANTIATE_TEST_SUITE_P(Designs, FalsePositives, ::testing::ValuesIn(kDesigns),
                         [](const auto& test) { return test.param.name; });

/// As `method: bayes` does where each configuration has several seeds: most configurations are
/// drawn near the best one up to then. `rows`: of the parameter without effect; 0: each
/// configuration is one.
std::vector<TrialRecord> searched(Random& random, int configurations, int seeds, int rows,
                                  double shift) {
  std::vector<TrialRecord> records;
  double best = std::numeric_limits<double>::infinity(), best_lr = 0.5;
  int best_row = 0;
  for (int number = 1; number <= configurations; ++number) {
    const bool near = number > configurations / 3;
    const double lr = near ? best_lr + 0.05 * random.normal() : random.uniform();
    const int row = rows == 0                     ? number
                    : near && random.below(4) > 0 ? best_row
                                                  : random.below(rows);
    // Where configurations are the rows nothing but their seeds tells them apart.
    const double level = (rows == 0 ? 0 : 12 * std::pow(lr - 0.5, 2)) - (row <= 1 ? shift : 0);
    for (int seed = 1; seed <= seeds; ++seed) {
      TrialRecord record;
      record.configuration = number;
      record.seed = static_cast<std::uint64_t>(seed);
      record.state = TrialPhase::finished;
      record.group = {jobspec::Value(row)};
      record.others = {jobspec::Value(lr)};
      record.best = level + random.normal();
      if (record.best < best) best = record.best, best_lr = lr, best_row = row;
      records.push_back(std::move(record));
    }
  }
  return records;
}

TEST(FalsePositives, OfASearchByResultsAreAtMostAsManyAsSaid) {
  const auto share = [](int draws, int configurations, int seeds, int rows, double shift,
                        bool known) {
    return test::share_of(draws, 20261128, [&](Random& random) {
      return test::claims(searched(random, configurations, seeds, rows, shift), &TrialRecord::best,
                          {}, {.by_results = known});
    });
  };
  const double of_seeds = share(kDraws, 6, 8, 0, 0, true);
  std::cout << fmt::format("{:34} false {:5.2f} %, found with a shift of 3: {:.0f} %\n",
                           "Searched6x8Seeds", 100 * of_seeds,
                           100 * share(kDraws / 20, 6, 8, 0, 3, true));
  EXPECT_LE(of_seeds, 0.06);
  EXPECT_EQ(share(kDraws / 10, 30, 1, 2, 0, true), 0) << "configurations are not tested";
  EXPECT_GT(share(kDraws / 10, 30, 1, 2, 0, false), 0.06) << "or there would be too many";
}

TEST(FalsePositives, WouldBeManyWithTrialsAsUnits) {
  Random random(20261122);
  int claimed = 0;
  constexpr int draws = 1000;
  for (int i = 0; i < draws; ++i) {
    std::vector<double> values[2];
    for (const TrialRecord& record : draw(kDesigns[1], random, 0))
      values[record.group[0].as_int()].push_back(record.best);
    claimed += rank_sum_test(values[0], values[1]) <= 0.05 ? 1 : 0;
  }
  EXPECT_GT(claimed, draws / 10) << "the simulation can tell";
}

/// How many of `kDraws` samples of n values have an interval that holds what is estimated, in %.
double coverage(int n, bool heavy, const std::function<bool(const std::vector<double>&)>& holds) {
  Random random(20261124);
  int held = 0;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<double> values;
    for (int k = 0; k < n; ++k) {
      // Student's t with 2 degrees of freedom: infinite variance, median and mean 0.
      const double z = random.normal();
      values.push_back(heavy ? z / std::sqrt(-std::log(random.uniform())) : z);
    }
    held += holds(values) ? 1 : 0;
  }
  return 100.0 * held / kDraws;
}

bool around(const Estimate& e, double value) {
  return e.low <= value && value <= e.high;
}

// Within 2 points of 95 %, or what is said of the interval elsewhere says how far it is off.
TEST(Coverage, OfMediansAndMeansIsAsSaid) {
  for (const bool heavy : {false, true}) {
    for (const int n : {3, 5, 10}) {
      const double of_median = coverage(
          n, heavy, [](const auto& values) { return around(bootstrap_median(values), 0); });
      const double of_mean =
          coverage(n, heavy, [](const auto& values) { return around(student_mean(values), 0); });
      std::cout << fmt::format("{:6} n={:2}  median {:.1f} %, mean {:.1f} %\n",
                               heavy ? "heavy" : "normal", n, of_median, of_mean);
      // Below 6 values the notes of a comparison say this number.
      EXPECT_NEAR(of_median, n < 6 ? 100 * (1 - std::exp2(1 - n)) : 95, 2) << n << heavy;
      // Without normal values it is said to be approximate.
      EXPECT_NEAR(of_mean, 95, heavy ? 3 : 2) << n;
    }
  }
}

TEST(Coverage, OfTheProbabilityOfImprovementIsAsSaid) {
  // Normal values apart by a shift: P(b < a) = Phi(shift / sqrt 2).
  for (const double shift : {0.0, 0.7}) {
    const double truth = 0.5 * std::erfc(-shift / 2);
    for (const int n : {3, 5, 10}) {
      Random random(7);
      int held = 0;
      for (int i = 0; i < kDraws; ++i) {
        Block block;
        for (int k = 0; k < n; ++k) {
          block.a.push_back(random.normal() + shift);
          block.b.push_back(random.normal());
        }
        held += around(probability_of_improvement({block}), truth) ? 1 : 0;
      }
      const double share = 100.0 * held / kDraws;
      std::cout << fmt::format("improvement {:.2f} n={:2}  {:.1f} %\n", truth, n, share);
      EXPECT_GE(share, n == 3 && shift == 0 ? 88 : 93) << n;  // 90 % of 3 values each, as said
    }
  }
}

}  // namespace
}  // namespace thalweg::db::analysis
