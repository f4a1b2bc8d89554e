// Are the verdicts honest whatever method drew the configurations? Those that draw without looking
// at results are simulated with their own points, at which a parameter of no effect makes the rows.
// No more than 5 % may call a row worse or different (6 % here, for the draws' own noise). What
// draws by results is not tested by configurations at all (simulation_test.cpp), what promotes is
// in tests/daemon/promoted_verdicts_test.cpp, studies are in tuning_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "jobspec/parse.h"
#include "jobspec/search/search.h"
#include "tests/support/nulls.h"

namespace thalweg::db::analysis {
namespace {

constexpr int kSweepsDrawn = 10000;

using test::Random;

struct DrawnDesign {
  std::string name, method;
  int configurations = 12, rows = 2, seeds = 1;
  double own = 0.3;       ///< deviation of what is each configuration's own
  double shift = 3;       ///< of row 0 where power is measured
  bool row_last = false;  ///< the row's parameter is the last one of the file
};

void PrintTo(const DrawnDesign& design, std::ostream* out) {
  *out << design.name;
}

/// Parameters row, lr and decay; seeds of the sweep scramble the points.
class DrawnSweep {
 public:
  explicit DrawnSweep(const DrawnDesign& design) : design_(design) {
    std::string values;
    for (int row = 0; row < design.rows; ++row)
      values += (row == 0 ? "" : ", ") + std::to_string(row);
    const std::string row = "  row: {values: [" + values + "]}\n";
    const std::string others = "  lr: {min: 0.0, max: 1.0}\n  decay: {min: 0.0, max: 1.0}\n";
    sweep_ = jobspec::parse_sweep(
        "command: [echo]\nmetric: {name: loss, goal: minimize}\nmethod: " + design.method +
            "\nrun_cap: 64\nparameters:\n" + (design.row_last ? others + row : row + others),
        "sweep.yaml", jobspec::Schema{});
    for (std::size_t i = 0; i < sweep_.axes.size(); ++i) {
      groups_.push_back({i});
      if (sweep_.axes[i].name == "row") row_ = i;
    }
  }

  std::vector<TrialRecord> draw(Random& random, double shift) {
    sweep_.seed = static_cast<std::uint64_t>(random.uniform() * 0x1p52);
    const jobspec::Draw draw = sweep_.method->draw(sweep_, groups_);
    const double peak = random.uniform(), per_decay = 2 * random.normal();
    std::vector<TrialRecord> records;
    for (int i = 0; i < design_.configurations; ++i) {
      std::vector<double> at;
      for (std::size_t group = 0; group < groups_.size(); ++group)
        at.push_back(draw(static_cast<std::uint64_t>(i), group));
      const auto row = static_cast<std::int64_t>(at[row_] * design_.rows);
      at.erase(at.begin() + static_cast<std::ptrdiff_t>(row_));
      const double level = 12 * std::pow(at[0] - peak, 2) + per_decay * at[1] +
                           design_.own * random.normal() - (row == 0 ? shift : 0);
      for (int seed = 1; seed <= design_.seeds; ++seed) {
        TrialRecord record;
        record.configuration = i + 1;
        record.seed = static_cast<std::uint64_t>(seed);
        record.state = TrialPhase::finished;
        record.group = {jobspec::Value(row)};
        record.others = {jobspec::Value(at[0]), jobspec::Value(at[1])};
        record.best = level + 0.3 * random.normal();
        records.push_back(std::move(record));
      }
    }
    return records;
  }

 private:
  DrawnDesign design_;
  jobspec::Sweep sweep_;
  jobspec::Groups groups_;
  std::size_t row_ = 0;
};

std::vector<DrawnDesign> drawn_designs() {
  std::vector<DrawnDesign> designs;
  for (const jobspec::SearchMethod& method : jobspec::search_methods()) {
    if (method.lists() || method.learns() || method.pauses() || method.tunes) continue;
    const std::string name(method.name);
    designs.push_back({name + "12", name});
    designs.push_back({name + "16RowLast", name, 16, 2, 1, 0.3, 3, true});
    designs.push_back({name + "33x2ThreeRows", name, 33, 3, 2, 0, 3});
  }
  return designs;
}

class VerdictsOfDrawn : public ::testing::TestWithParam<DrawnDesign> {};

TEST_P(VerdictsOfDrawn, AreFalseAsSeldomAsSaid) {
  const DrawnDesign& design = GetParam();
  DrawnSweep sweep(design);
  const auto share = [&](int draws, double shift) {
    return test::share_of(draws, 20261129, [&](Random& random) {
      return test::claims(sweep.draw(random, shift), &TrialRecord::best);
    });
  };
  const double alike = share(kSweepsDrawn, 0);
  std::cout << fmt::format("{:34} false {:5.2f} %, found with a shift of {}: {:.0f} %\n",
                           design.name, 100 * alike, design.shift,
                           100 * share(kSweepsDrawn / 20, design.shift));
  EXPECT_LE(alike, 0.06);
}

INSTANTIATE_TEST_SUITE_P(Designs, VerdictsOfDrawn, ::testing::ValuesIn(drawn_designs()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::db::analysis
