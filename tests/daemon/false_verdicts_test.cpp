// Are verdicts honest where trials end before their last step, or were imported? Curves are drawn
// in which the parameter that makes the rows has no effect; the controller's own rules end and
// number them. No more than 5 % of such sweeps may call any row worse or different (6 % here, for
// the draws' own noise). tests/db/simulation_test.cpp has the designs in which every trial runs to
// its end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <limits>

#include "daemon/controller/imported.h"
#include "jobspec/early/rule.h"
#include "tests/support/nulls.h"

namespace thalweg::daemon {
namespace {

using db::analysis::Member;
using db::analysis::TrialRecord;
using jobspec::TrialHistory;
using test::Random;

constexpr int kDraws = 10000;
constexpr int kLooks = 27;
constexpr int kAtOnce = 4;
constexpr double kMissed = std::numeric_limits<double>::infinity();

/// One trial before it has run.
struct Planned {
  int row = 0, lr = 0;
  std::int64_t configuration = 0;
  std::uint64_t seed = 0;
};

/// In the order in which trials start.
using Starts = std::vector<Planned>;

/// As a grid expands: rows outermost, seeds innermost.
Starts grid(int rows, int lrs, int seeds) {
  Starts plan;
  for (int row = 0; row < rows; ++row)
    for (int lr = 0; lr < lrs; ++lr)
      for (int seed = 1; seed <= seeds; ++seed)
        plan.push_back({row, lr, row * lrs + lr + 1, static_cast<std::uint64_t>(seed)});
  return plan;
}

void shuffle(Starts& plan, Random& random) {
  for (std::size_t i = plan.size(); i > 1; --i)
    std::swap(plan[i - 1], plan[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
}

struct CurveDesign {
  std::string name;
  std::function<Starts(Random&)> plan;
  Member ranked_by;
  bool early_terminate = true;
  bool stop_at_target = false;
  bool strict = false;
  double shift = 0.7;  ///< of row 0 where power is measured
};

void PrintTo(const CurveDesign& design, std::ostream* out) {
  *out << design.name;
}

constexpr double kTarget = 0.4;

/// Falls from 2.4; what is each trial's own is as large as what a learning rate does.
std::vector<double> curve(const Planned& trial, const std::vector<double>& of_lr, double shift,
                          Random& random) {
  const double own = of_lr[static_cast<std::size_t>(trial.lr)] + 0.5 * random.normal() -
                     (trial.row == 0 ? shift : 0);
  std::vector<double> values;
  for (int look = 1; look <= kLooks; ++look)
    values.push_back(0.5 + own + 2 * std::exp(-look / 6.0) + 0.2 * random.normal());
  return values;
}

TrialRecord record_of(const Planned& trial, const std::vector<double>& values) {
  TrialRecord record;
  record.state = db::TrialPhase::finished;
  record.configuration = trial.configuration;
  record.seed = trial.seed;
  record.group = {jobspec::Value(trial.row)};
  record.others = {jobspec::Value(trial.lr)};
  record.best = *std::min_element(values.begin(), values.end());
  record.looks = static_cast<double>(values.size());
  record.steps_per_look = 1;
  const auto first =
      std::find_if(values.begin(), values.end(), [](double value) { return value <= kTarget; });
  record.steps = first == values.end() ? kMissed : static_cast<double>(first - values.begin()) + 1;
  return record;
}

/// As the controller does: kAtOnce trials at a time report in turns, and the rule ends those that
/// are behind.
std::vector<TrialRecord> run(const CurveDesign& design, Random& random, double shift) {
  const Starts plan = design.plan(random);
  std::vector<double> of_lr;
  for (std::size_t i = 0; i < plan.size(); ++i)
    of_lr.push_back(0.5 * random.normal());
  std::vector<std::vector<double>> curves;
  for (const Planned& trial : plan)
    curves.push_back(curve(trial, of_lr, shift, random));
  jobspec::EarlyTerminate rule;
  rule.min_iter = 3;
  rule.strict = design.strict;
  jobspec::Metric metric;
  metric.name = "loss";
  std::map<std::int64_t, TrialHistory> histories;
  std::size_t started = 0;
  std::vector<std::size_t> live;
  while (started < plan.size() || !live.empty()) {
    while (live.size() < kAtOnce && started < plan.size())
      live.push_back(started++);
    for (const std::size_t trial : live) {
      TrialHistory& history = histories[static_cast<std::int64_t>(trial)];
      const std::size_t looks = history.values().size();
      history.add(static_cast<std::int64_t>(looks + 1), curves[trial][looks]);
      history.running =
          looks + 1 < kLooks && !(design.stop_at_target && history.values().back() <= kTarget);
    }
    if (design.early_terminate)
      for (const auto& [trial, reason] : ended_early(rule, metric, histories))
        histories[trial].running = false;
    std::erase_if(live, [&](std::size_t trial) {
      return !histories[static_cast<std::int64_t>(trial)].running;
    });
  }
  std::vector<TrialRecord> records;
  for (std::size_t i = 0; i < plan.size(); ++i)
    records.push_back(record_of(plan[i], histories[static_cast<std::int64_t>(i)].values()));
  return records;
}

double share_of_claims(const CurveDesign& design, int draws, double shift) {
  return test::share_of(draws, 20261128, [&](Random& random) {
    return test::claims(run(design, random, shift), design.ranked_by);
  });
}

void expect_few_claims(const std::string& name, double alike, double shift, double apart) {
  std::cout << fmt::format("{:34} false {:5.2f} %, found with a shift of {}: {:.0f} %\n", name,
                           100 * alike, shift, 100 * apart);
  EXPECT_LE(alike, 0.06);
}

auto in_order(int rows, int lrs, int seeds) {
  return [=](Random&) { return grid(rows, lrs, seeds); };
}
auto shuffled(int rows, int lrs, int seeds) {
  return [=](Random& random) {
    Starts plan = grid(rows, lrs, seeds);
    shuffle(plan, random);
    return plan;
  };
}

const Member kByBest = &TrialRecord::best, kBySteps = &TrialRecord::steps;

const CurveDesign kCurveDesigns[] = {
    {"EarlyInOrder2RowsBest", in_order(2, 1, 8), kByBest},
    {"EarlyInOrder2RowsStrictBest", in_order(2, 1, 8), kByBest, true, false, true},
    {"EarlyInOrder4RowsBest", in_order(4, 1, 8), kByBest},
    {"EarlyInOrderGrid2x8Best", in_order(2, 8, 1), kByBest},
    {"EarlyInOrder2RowsSteps", in_order(2, 1, 8), kBySteps},
    {"EarlyInOrderGrid2x8Steps", in_order(2, 8, 1), kBySteps},
    {"Early2RowsBest", shuffled(2, 1, 8), kByBest},
    {"EarlyGrid2x8x2Best", shuffled(2, 8, 2), kByBest},
    {"Early2RowsSteps", shuffled(2, 1, 8), kBySteps},
    {"EarlyStop2RowsSteps", shuffled(2, 1, 8), kBySteps, true, true},
    {"Stop2RowsSteps", in_order(2, 1, 8), kBySteps, false, true},
    {"Stop2RowsBest", in_order(2, 1, 8), kByBest, false, true},
    {"StopGrid2x8Best", in_order(2, 8, 1), kByBest, false, true},
};

class FalseVerdicts : public ::testing::TestWithParam<CurveDesign> {};

TEST_P(FalseVerdicts, AreAtMostAsManyAsSaid) {
  const CurveDesign& design = GetParam();
  expect_few_claims(design.name, share_of_claims(design, kDraws, 0), design.shift,
                    share_of_claims(design, kDraws / 20, design.shift));
}

INSTANTIATE_TEST_SUITE_P(Designs, FalseVerdicts, ::testing::ValuesIn(kCurveDesigns),
                         [](const auto& test) { return test.param.name; });

/// Other people's runs.
struct ImportDesign {
  std::string name;
  int rows = 2, configurations = 1, repeats = 1;
  bool drawn = false;      ///< each configuration's row, and a learning rate that no other has
  bool own_seeds = false;  ///< a column of seeds, none of them twice; else there is none
  bool unequal = false;    ///< some runs have four times as many points as others
  std::vector<std::size_t> best_over{};
  double shift = 1.5;
  bool newest = false;  ///< compared by the newest values
};

void PrintTo(const ImportDesign& design, std::ostream* out) {
  *out << design.name;
}

/// The controller numbers their configurations, and the seeds of those that have none.
std::vector<TrialRecord> imported(const ImportDesign& design, Random& random, double shift) {
  std::vector<ImportedRun> runs;
  std::vector<TrialRecord> records;
  const bool by_seeds = design.configurations == 1 || !design.best_over.empty();
  const int each = design.configurations * (design.drawn ? 1 : design.rows);
  for (int i = 0; i < each; ++i) {
    const int row = design.drawn ? random.below(design.rows) : i / design.configurations;
    const int lr = design.drawn ? i : i % design.configurations;
    // Where seeds are the units what is a configuration's own would be a difference of the rows.
    const double own = (by_seeds ? 0 : 0.5 * random.normal()) - (row == 0 ? shift : 0);
    for (int k = 0; k < design.repeats; ++k) {
      ImportedRun& run = runs.emplace_back();
      run.parameters = fmt::format(R"({{"row":{},"lr":{}}})", row, lr);
      if (design.own_seeds) run.seed = 1000 + runs.size();
      std::vector<double> values;
      const double of_run = own + random.normal();
      const int points = design.unequal && random.below(2) == 1 ? 80 : 20;
      for (int step = 0; step < points; ++step)
        values.push_back(of_run + random.normal());
      records.push_back(record_of({row, lr}, values));
      if (design.newest) records.back().best = values.back();  // as read_records() has it
    }
  }
  const std::vector<std::int64_t> configurations = number_configurations(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    records[i].configuration = configurations[i];
    records[i].seed = *runs[i].seed;
  }
  return records;
}

const ImportDesign kImports[] = {
    {"Repeats2Rows8", 2, 1, 8},
    {"Repeats4Rows10OwnSeeds", 4, 1, 10, false, true},
    {"Drawn16", 2, 16, 1, true},
    {"Drawn12x3OwnSeeds", 2, 12, 3, true, true},
    {"Grid2x8x2", 2, 8, 2},
    {"Repeats2Rows8Unequal", 2, 1, 8, false, false, true},
    {"Drawn24Unequal", 2, 24, 1, true, false, true},
    {"Repeats2Rows8UnequalByNewest", 2, 1, 8, false, false, true, {}, 2.5, true},
    {"Repeats4Rows10UnequalByNewest", 4, 1, 10, false, false, true, {}, 2.5, true},
    {"Drawn24UnequalByNewest", 2, 24, 1, true, false, true, {}, 2.5, true},
    {"BestOver2x4x10", 2, 4, 10, false, false, false, {0}},
    {"BestOver2x4x10OwnSeeds", 2, 4, 10, false, true, false, {0}},
};

class FalseVerdictsOfImports : public ::testing::TestWithParam<ImportDesign> {};

TEST_P(FalseVerdictsOfImports, AreAtMostAsManyAsSaid) {
  const ImportDesign& design = GetParam();
  const auto share = [&](int draws, double shift) {
    return test::share_of(draws, 20261128, [&](Random& random) {
      return test::claims(imported(design, random, shift), kByBest, design.best_over,
                          {.newest = design.newest, .imported = true});
    });
  };
  expect_few_claims(design.name, share(kDraws, 0), design.shift, share(kDraws / 20, design.shift));
}

INSTANTIATE_TEST_SUITE_P(Designs, FalseVerdictsOfImports, ::testing::ValuesIn(kImports),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::daemon
