// Studies: what compare says of winners and what of draws, and whether its verdicts are honest over
// the whole path: real draws, a choice by them, fresh seeds of the winners, a verdict. Where the
// value that is compared does nothing, no more than 5 % of studies may claim a difference (6 %
// here, for the draws' own noise).
#include "db/analysis/tuning.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "db/analysis/compare.h"
#include "db/analysis/tuneability.h"
#include "db/analysis/verdict.h"
#include "db/studies/study.h"
#include "jobspec/search/search.h"
#include "jobspec/sweep.h"
#include "tests/db/fixture.h"
#include "tests/support/nulls.h"

namespace thalweg::db::analysis {
namespace {

using test::Random;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(BetterHalf, CountsAllWaysToDealTheRanks) {
  // 6 of 6 in the better half: one of C(12, 6) = 924 deals, two-sided.
  const std::vector<double> low{1, 2, 3, 4, 5, 6}, high{7, 8, 9, 10, 11, 12};
  EXPECT_NEAR(better_half_p(low, high), 2.0 / 924, 1e-15);
  EXPECT_EQ(better_half_p(high, low), 1);
  // Scores of 2 + 2 are 2, 1, 0, 0: of the 6 pairs one has 3, two have 2.
  EXPECT_NEAR(better_half_p({1, 3}, {2, 4}), 1.0, 1e-15);
  EXPECT_NEAR(better_half_p({1, 2}, {3, 4}), 2.0 / 6, 1e-15);
}

TEST(BetterHalf, EqualAndFailedDrawsAreNoSuccess) {
  constexpr double failed = std::numeric_limits<double>::infinity();
  EXPECT_EQ(better_half_p({1, 1, 1, 1}, {1, 1, 1, 1}), 1);
  EXPECT_EQ(better_half_p({failed, failed}, {failed, failed}), 1);
  EXPECT_LT(better_half_p({1, 2, 3, 4}, {failed, failed, failed, failed}), 0.03);
  EXPECT_EQ(better_half_p({}, {1}), 1);
  EXPECT_EQ(better_half_p({1}, {}), 1);
}

TEST(BetterHalf, ManyDrawsAgreeWithTheExactTest) {
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    // 60 each are counted, 61 are not.
    std::vector<double> a, b;
    for (int k = 0; k < 60; ++k) {
      a.push_back(random.normal() - 0.3);
      b.push_back(random.normal());
    }
    const double exact = better_half_p(a, b);
    a.push_back(100);
    b.push_back(101);
    EXPECT_NEAR(better_half_p(a, b), exact, 0.2 * exact + 0.01) << i;
  }
}

/// A study of an own program whose loss is a bowl in the plane, its bottom where `optimum` is.
struct PathDesign {
  std::string name;
  int values = 2, budget = 20, final_seeds = 5;
  double curvature = 0;     ///< of the bowl, next to seeds of deviation 1
  bool own_spaces = false;  ///< each value has other draws of the same ranges
  double shift = 3;         ///< of the first value where power is measured
  double lost = 0;          ///< share of draws that fail
};

void PrintTo(const PathDesign& design, std::ostream* out) {
  *out << design.name;
}

/// The trials of both stages, as the sweep file gives them.
jobspec::Expansion expanded(const PathDesign& design, std::uint64_t seed) {
  std::string values, axes, when;
  for (int v = 0; v < design.values; ++v) {
    const std::string name(1, static_cast<char>('a' + v));
    values += (v == 0 ? "" : ", ") + name;
    if (!design.own_spaces) continue;
    for (const char* axis : {"x", "y"}) {
      axes += "  " + (axis + name) + ": {min: 0.0, max: 1.0}\n";
      when += "  " + (axis + name) + ": {v: " + name + "}\n";
    }
  }
  if (!design.own_spaces) axes = "  x: {min: 0.0, max: 1.0}\n  y: {min: 0.0, max: 1.0}\n";
  const std::string text = fmt::format(
      "program: f\nmetric: {{name: loss, goal: minimize}}\nseed: {}\n"
      "study: {{compare: v, budget: {}, final_seeds: {}}}\n"
      "parameters:\n  v: {{values: [{}]}}\n{}{}",
      seed, design.budget, design.final_seeds, values, axes, when.empty() ? "" : "when:\n" + when);
  const jobspec::Sweep sweep = jobspec::parse_sweep(text, "sweep.yaml", jobspec::Schema());
  return jobspec::expand(sweep, jobspec::Schema());
}

/// What a trial's configuration is worth: without the value, which does nothing but `shift`.
double quality(const jobspec::Value& parameters, const PathDesign& design,
               const std::pair<double, double>& optimum, double shift) {
  double squares = 0;
  for (const auto& [name, value] : parameters.as_map()) {
    if (name == "v") continue;
    const double away = value.as_double() - (name[0] == 'x' ? optimum.first : optimum.second);
    squares += away * away;
  }
  return design.curvature * squares - (parameters.find("v")->as_string() == "a" ? shift : 0);
}

TrialRecord record_of(const jobspec::ExpandedTrial& trial, double value) {
  TrialRecord record;
  record.configuration = trial.configuration;
  record.seed = trial.seed;
  record.state = TrialPhase::finished;
  record.group = {*trial.parameters.find("v")};
  for (const char* name : {"x", "y"}) {
    const jobspec::Value* const value_of = trial.parameters.find(name);
    record.others.push_back(value_of ? *value_of : jobspec::Value(trial.configuration));
  }
  record.best = value;
  return record;
}

struct Ran {
  std::vector<TrialRecord> draws, finals;
};

Ran run(const jobspec::Expansion& expansion, const PathDesign& design, Random& random,
        const std::pair<double, double>& optimum, double shift) {
  Ran ran;
  std::map<std::string, std::vector<jobspec::Observed>> observed;
  const auto trial_at = [&](std::int64_t configuration) -> const jobspec::ExpandedTrial& {
    return expansion.trials[static_cast<std::size_t>(configuration - 1)];
  };
  for (const jobspec::ExpandedTrial& trial : expansion.trials) {
    const std::string& value = trial.parameters.find("v")->as_string();
    if (trial.number <= expansion.draws) {
      const double loss = quality(trial.parameters, design, optimum, shift) + random.normal();
      ran.draws.push_back(record_of(trial, loss));
      jobspec::Observed one;
      one.value = loss;
      one.configuration = trial.configuration;
      if (random.uniform() < design.lost) {
        one.state = jobspec::Observed::State::failed;
        ran.draws.back().best = std::numeric_limits<double>::infinity();  // as compare has it
      }
      observed[value].push_back(one);
      continue;
    }
    const auto best = jobspec::best_draw(observed[value], jobspec::Metric());
    if (!best) continue;  // all were lost
    jobspec::ExpandedTrial winner = trial_at(best->configuration);
    winner.configuration = trial.configuration;
    winner.seed = trial.seed;
    ran.finals.push_back(
        record_of(winner, quality(winner.parameters, design, optimum, shift) + random.normal()));
  }
  return ran;
}

std::vector<Contender> contenders_of(const std::vector<TrialRecord>& records) {
  std::vector<Contender> contenders;
  for (const UnitRow& row : units_of(records).rows) {
    Contender contender{{}, scores_of(row, &TrialRecord::best, false)};
    contender.row.group = {{"v", row.group[0]}};
    contenders.push_back(std::move(contender));
  }
  return contenders;
}

/// Whether compare would call any row worse or different; without `allow` as if only the final
/// seeds were asked.
bool claims(const Ran& ran, bool allow) {
  std::vector<Contender> contenders = contenders_of(ran.finals), draws = contenders_of(ran.draws);
  order(contenders);
  Tested tested = judge(contenders, units_of(ran.finals).by_seeds ? "seed" : "configuration", true);
  if (allow) allow_for_tuning(contenders, draws, tested);
  return std::any_of(contenders.begin(), contenders.end(), [](const Contender& contender) {
    return contender.row.verdict.starts_with("worse") ||
           contender.row.verdict.starts_with("different");
  });
}

double share_of_claims(const PathDesign& design, int runs, double shift, bool allow) {
  constexpr std::uint64_t scrambles = 100;  // that draws are taken from by turns
  std::vector<jobspec::Expansion> expansions;
  for (std::uint64_t seed = 1; seed <= scrambles; ++seed)
    expansions.push_back(expanded(design, seed));
  std::size_t next = 0;
  return test::share_of(runs, 20261129, [&](Random& random) {
    const std::pair optimum{random.uniform(), random.uniform()};
    return claims(run(expansions[next++ % scrambles], design, random, optimum, shift), allow);
  });
}

const PathDesign kPaths[] = {
    {"Flat2x20x5", 2, 20, 5, 0},
    {"Flat3x8x8", 3, 8, 8, 0},
    {"Shallow2x20x5", 2, 20, 5, 10},
    {"Shallow3x8x8", 3, 8, 8, 10},
    {"Steep2x20x5", 2, 20, 5, 100},
    {"Steep3x20x8", 3, 20, 8, 100},
    {"OwnShallow3x8x8", 3, 8, 8, 10, true},
    {"OwnSteep2x20x5", 2, 20, 5, 100, true, 40},
    {"OwnSteep3x20x8", 3, 20, 8, 100, true, 40},
    {"OwnShallow3x8x8Lost", 3, 8, 8, 10, true, 12, 0.3},
    {"Shallow2x20x5Lost", 2, 20, 5, 10, false, 3, 0.3},
};

class StudyVerdicts : public ::testing::TestWithParam<PathDesign> {};

TEST_P(StudyVerdicts, AreFalseAsSeldomAsSaid) {
  constexpr int runs = 10000;
  const PathDesign& design = GetParam();
  const double alike = share_of_claims(design, runs, 0, true);
  std::cout << fmt::format(
      "{:16} false {:5.2f} % (by the final seeds alone {:5.2f} %), found with a shift of {}: "
      "{:.0f} "
      "%\n",
      design.name, 100 * alike, 100 * share_of_claims(design, runs / 10, 0, false), design.shift,
      100 * share_of_claims(design, runs / 20, design.shift, true));
  EXPECT_LE(alike, 0.06);
}

/// Studies of other seeds, compared together: their winners are the units, and each is a tuning of
/// its own.
TEST(StudyVerdicts, OfSeveralStudiesAreByTheirWinners) {
  constexpr int studies = 5, scrambles = 100, runs = 10000;
  const PathDesign design{"", 2, 8, 2, 100, true, 40};
  std::vector<jobspec::Expansion> expansions;
  for (std::uint64_t seed = 1; seed <= scrambles; ++seed)
    expansions.push_back(expanded(design, seed));
  const auto share = [&](int count, double shift) {
    return test::share_of(count, 20261130, [&](Random& random) {
      const std::pair optimum{random.uniform(), random.uniform()};
      const int first = random.below(scrambles);
      std::vector<TrialRecord> finals;
      for (int i = 0; i < studies; ++i) {
        const auto& of_seed = expansions[static_cast<std::size_t>((first + i) % scrambles)];
        for (TrialRecord& record : run(of_seed, design, random, optimum, shift).finals) {
          record.configuration += 1000 * i;
          finals.push_back(std::move(record));
        }
      }
      EXPECT_FALSE(units_of(finals).by_seeds);
      return claims({{}, finals}, false);
    });
  };
  const double alike = share(runs, 0);
  std::cout << fmt::format("{:16} false {:5.2f} %, found with a shift of {}: {:.0f} %\n",
                           "Several5x2x8x2", 100 * alike, design.shift,
                           100 * share(runs / 20, design.shift));
  EXPECT_LE(alike, 0.06);
}

INSTANTIATE_TEST_SUITE_P(Designs, StudyVerdicts, ::testing::ValuesIn(kPaths),
                         [](const auto& test) { return test.param.name; });

TEST(StudyVerdicts, WouldOftenBeFalseByTheFinalSeedsAlone) {
  const PathDesign design{"", 3, 20, 8, 100, true};
  EXPECT_GT(share_of_claims(design, 300, 0, false), 0.3) << "the simulation can tell";
  EXPECT_GT(share_of_claims(design, 300, 100, true), 0.9) << "what is much better is found";
}

/// A study in the record, whose trials are put in by hand: 6 draws of each value, 6 final seeds.
class StudyRecord : public StoreTest {
 protected:
  static constexpr int kDraws = 6, kFinals = 6;

  /// `of_draw` and `of_final`: the losses of value a and of value b.
  void make(const std::pair<double, double>& of_draw, const std::pair<double, double>& of_final) {
    SweepRow row = sample_sweep();
    row.text =
        "study: {compare: v, budget: 6, final_seeds: 6}\n"
        "parameters: {v: {values: [a, b]}, lr: {min: 0.0, max: 1.0}}\n";
    row.target.reset();
    row.targets.clear();
    sweep = store.insert_sweep(row);
    for (int i = 0; i < kDraws; ++i) {
      add("a", i, 2 * i + 1, 1, of_draw.first + 0.001 * i);
      add("b", i, 2 * i + 2, 1, of_draw.second + 0.001 * i);
    }
    for (int seed = 0; seed < kFinals; ++seed) {
      add("a", 0, 13, seed + 2, of_final.first + 0.001 * seed);
      add("b", 0, 14, seed + 2, of_final.second + 0.001 * seed);
    }
  }

  void add(const std::string& value, int draw, int configuration, int seed, double loss) {
    TrialRow trial = sample_trial(sweep, ++trials, static_cast<std::uint64_t>(seed));
    trial.configuration = configuration;
    trial.parameters = fmt::format(R"({{"v":"{}","lr":{}}})", value, 0.1 * draw);
    trial.hash = fmt::format("{}{}", value, draw);
    trial.state = TrialPhase::finished;
    store.insert_trials({trial});
    const AttemptRow attempt = sample_attempt(sweep, trials);
    store.insert_attempt(attempt);
    store.add_points(attempt.id, 1, 1, {{"val/error", 100, loss, 1700000000}});
  }

  std::int64_t sweep = 0, trials = 0;
};

TEST_F(StudyRecord, IsComparedByTheFinalSeedsAlone) {
  make({0.1, 0.2}, {0.3, 0.25});  // a's draws looked better: luck
  const Comparison found = compare(store, sweep);
  EXPECT_EQ(found.by, std::vector<std::string>{"v"});
  EXPECT_EQ(found.best_over, std::vector<std::string>{"lr"});
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "b");
  for (const ComparisonRow& row : found.rows) {
    EXPECT_EQ(row.n, kFinals);
    EXPECT_EQ(row.trials.size(), static_cast<std::size_t>(kFinals));
    EXPECT_EQ(row.choices, kDraws);
    EXPECT_EQ(row.chosen[0].second.as_double(), 0);
  }
  EXPECT_GE(found.rows[0].best.low, 0.25) << "no draw";
  EXPECT_THAT(found.notes, Contains(HasSubstr("chosen on seed 1, all else is from seeds 2 to 7")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("the 12 draws that chose the winners count in no "
                                              "number here")));
  EXPECT_EQ(found.rows[1].verdict, "no clear difference (p=1)") << "the draws say the opposite";
  EXPECT_THAT(found.notes,
              Contains(HasSubstr(
                  "1 row differs on the final seeds, but the draws do not distinguish them")));
}

TEST_F(StudyRecord, TellsApartWhatDrawsAndFinalSeedsTellApart) {
  make({0.1, 0.2}, {0.15, 0.25});
  const Comparison found = compare(store, sweep);
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "a");
  EXPECT_THAT(found.rows[1].verdict, testing::StartsWith("worse (p=0.03"))
      << "6 pairs of draws at the same points: 2 / 2^6";
  EXPECT_THAT(found.notes, Not(Contains(HasSubstr("differs on the final seeds"))));
}

TEST_F(StudyRecord, ItsWinnersAreNotChosenOnceMore) {
  make({0.1, 0.2}, {0.15, 0.25});
  CompareOptions options;
  options.best_over = {"lr"};
  EXPECT_THROW(compare(store, sweep, options), std::invalid_argument);
  options.best_over.clear();
  options.by = {"lr"};
  const Comparison found = compare(store, sweep, options);
  EXPECT_THAT(found.notes, Contains(HasSubstr("so nothing is tested")));
}

TEST_F(StudyRecord, TuneabilityAndBudgetsAreOfTheDraws) {
  make({0.3, 0.2}, {0.01, 0.02});
  const TuneabilityStudy study = study_tuneability(store, {sweep}, {"v"});
  ASSERT_EQ(study.rows.size(), 2u);
  EXPECT_EQ(study.rows[0].group, "b");
  for (const TuneabilityRow& row : study.rows) {
    EXPECT_EQ(row.settings.size(), static_cast<std::size_t>(kDraws));
    for (const TunedSetting& setting : row.settings) {
      EXPECT_EQ(setting.runs, 1);
      EXPECT_GE(setting.final_mean, 0.2) << "no final seed";
    }
  }
  EXPECT_THAT(study.notes, Contains(HasSubstr("12 trials with final seeds")));

  StudyRequest request;
  request.sweeps = {sweep};
  const Study& regret = *find_study("regret");
  for (const StudyOption& option : regret.options)
    if (option.name == "by") request.set(option, "v");
  const DataTable table = regret.run(store, request);
  ASSERT_FALSE(table.rows.empty());
  for (const auto& row : table.rows) {
    EXPECT_LE(std::get<double>(row[1]), kDraws);
    EXPECT_GE(std::get<double>(row[2]), 0.2) << "no final seed";
    EXPECT_TRUE(std::holds_alternative<std::monostate>(row[3])) << "no interval of one order";
  }
}

}  // namespace
}  // namespace thalweg::db::analysis
