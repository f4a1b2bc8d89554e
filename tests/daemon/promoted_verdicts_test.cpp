// Are verdicts honest where trials pause at rungs and the best go on? As false_verdicts_test.cpp,
// with the controller's own promotions: the row parameter has no effect, and no more than 5 % of
// sweeps may call a row worse or different (6 % here, for the draws' own noise).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>

#include "daemon/state/promotions.h"
#include "tests/support/nulls.h"

namespace thalweg::daemon {
namespace {

using db::analysis::TrialRecord;
using test::Random;

constexpr int kSweeps = 10000;
constexpr std::int64_t kRungs[] = {3, 9};
constexpr int kWhole = 27;
constexpr std::size_t kLive = 4;

struct RungDesign {
  std::string name;
  bool waits = false;  ///< successive_halving, else asha
  int trials = 24;
  int rows = 2;
  double shift = 1;  ///< of row 0 where power is measured
};

void PrintTo(const RungDesign& design, std::ostream* out) {
  *out << design.name;
}

/// A sweep whose trials report once a round, kLive of them at a time.
class Rounds {
 public:
  Rounds(const RungDesign& design, Random& random, double shift) : random_(random) {
    sweep_.promotion = {{}, "steps", {std::begin(kRungs), std::end(kRungs)}, 3, design.waits};
    sweep_.trials.resize(static_cast<std::size_t>(design.trials));
    for (int i = 0; i < design.trials; ++i) {
      sweep_.unstarted.insert(i + 1);
      const int row = random.below(design.rows);
      rows_.push_back(row);
      levels_.push_back(0.7 * random.normal() - (row == 0 ? shift : 0));
    }
    curves_.resize(rows_.size());
  }

  std::vector<TrialRecord> run() {
    while (true) {
      fill();
      if (sweep_.live.empty()) break;
      std::vector<std::int64_t> live;
      for (const auto& [trial, attempt] : sweep_.live)
        live.push_back(trial);
      for (const std::int64_t trial : live)
        report(trial);
    }
    std::vector<TrialRecord> records;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      records.push_back(record(i));
    return records;
  }

 private:
  void fill() {
    while (sweep_.live.size() < kLive) {
      std::int64_t trial = 0;
      if (const auto next = next_promotion(sweep_)) {
        trial = next->trial;
        TrialState& state = of(trial);
        state.paused = false;
        ++state.rung;
        sweep_.paused.erase(trial);
      } else if (!sweep_.unstarted.empty()) {
        trial = *sweep_.unstarted.begin();
        sweep_.unstarted.erase(sweep_.unstarted.begin());
      } else {
        return;
      }
      sweep_.live[trial] = {};
    }
  }

  void report(std::int64_t trial) {
    std::vector<double>& curve = curves_[static_cast<std::size_t>(trial - 1)];
    const auto look = static_cast<double>(curve.size() + 1);
    curve.push_back(levels_[static_cast<std::size_t>(trial - 1)] + 2 * std::exp(-look / 6) +
                    0.3 * random_.normal());
    TrialState& state = of(trial);
    const auto done = static_cast<std::int64_t>(curve.size());
    if (state.rung < std::size(kRungs) && done == kRungs[state.rung]) {
      state.at_rungs.emplace_back(curve.back());
      state.paused = true;
      sweep_.paused.insert(trial);
      sweep_.live.erase(trial);
    } else if (done == kWhole) {
      state.phase = TrialPhase::finished;
      sweep_.live.erase(trial);
    }
  }

  TrialRecord record(std::size_t i) const {
    TrialRecord record;
    record.state = db::TrialPhase::finished;
    record.configuration = static_cast<std::int64_t>(i) + 1;
    record.seed = 1;
    record.group = {jobspec::Value(rows_[i])};
    record.others = {jobspec::Value(static_cast<std::int64_t>(i))};
    record.best = *std::min_element(curves_[i].begin(), curves_[i].end());
    record.looks = static_cast<double>(curves_[i].size());
    record.steps_per_look = 1;
    return record;
  }

  TrialState& of(std::int64_t trial) { return sweep_.trials[static_cast<std::size_t>(trial - 1)]; }

  Random& random_;
  SweepState sweep_;
  std::vector<int> rows_;
  std::vector<double> levels_;
  std::vector<std::vector<double>> curves_;
};

const RungDesign kRungDesigns[] = {
    {"Asha24", false},
    {"Asha12", false, 12},
    {"Asha48FourRows", false, 48, 4, 1.5},
    {"SuccessiveHalving24", true},
};

class PromotedVerdicts : public ::testing::TestWithParam<RungDesign> {};

TEST_P(PromotedVerdicts, AreFalseAsSeldomAsSaid) {
  const RungDesign& design = GetParam();
  const auto share = [&](int sweeps, double shift) {
    return test::share_of(sweeps, 20261129, [&](Random& random) {
      return test::claims(Rounds(design, random, shift).run(), &TrialRecord::best);
    });
  };
  const double alike = share(kSweeps, 0);
  std::cout << fmt::format("{:34} false {:5.2f} %, found with a shift of {}: {:.0f} %\n",
                           design.name, 100 * alike, design.shift,
                           100 * share(kSweeps / 20, design.shift));
  EXPECT_LE(alike, 0.06);
}

INSTANTIATE_TEST_SUITE_P(Designs, PromotedVerdicts, ::testing::ValuesIn(kRungDesigns),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::daemon
