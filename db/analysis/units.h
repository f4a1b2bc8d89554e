// What the rows of a comparison are compared on. Seeds of one configuration are repetitions of one
// experiment, not experiments of their own: where a row holds several configurations, each counts
// once, as the median over its seeds. No database here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/analysis/records.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {

/// A configuration with its trials, or one trial where every row is a single configuration.
struct Unit {
  std::vector<const TrialRecord*> trials;
  std::vector<int> others;  ///< the values of the other parameters, equal numbers for equal values
};

/// What was chosen of the parameters that a row is compared at its best over.
struct Choice {
  std::vector<jobspec::Value> values;  ///< in the order of `best_over`
  std::size_t among = 0;               ///< combinations of values with data
  std::vector<std::string> tried{};    ///< all combinations of the row, sorted, as canonical text
};

struct UnitRow {
  std::vector<jobspec::Value> group;
  std::vector<const TrialRecord*> trials;  ///< in order of number
  std::vector<Unit> units{};
  std::optional<Choice> choice{};
};

struct UnitTable {
  std::vector<UnitRow> rows;   ///< in the order of their first trial
  bool by_seeds = true;        ///< units are trials: every row is a single configuration
  std::vector<int> max_mixed;  ///< per other parameter: the most values that one row mixes

  /// Whether rows at the best of some parameters had the same values to choose among. Else they
  /// differ in what was drawn for them, too, and no number of seeds tells one from the other.
  bool chose_alike() const;
  /// Whether rows report their metric alike: as often, or after as many steps each time. The best
  /// of more values of a noisy metric is better by chance alone, and so is the first at a target.
  /// Trials that end early have fewer, after as many steps.
  bool looked_alike() const;
  /// Whether units are seeds and neither a row's best values nor its steps to the target depend on
  /// them, to the last bit: repetitions of one run.
  bool seeds_change_nothing() const;
};

using Member = double TrialRecord::*;
/// A number of a trial.
using Number = std::function<double(const TrialRecord&)>;

/// The value of a unit: the median over its trials that have one; NaN where none has.
double value_of(const Unit& unit, const Number& number);
/// The units' values, without NaN.
std::vector<double> values_of(const std::vector<Unit>& units, const Number& number);

/// Rows of trials that agree in `group`.
UnitTable units_of(const std::vector<TrialRecord>& records);

/// How the best values of some parameters are chosen.
struct BestOver {
  std::vector<std::size_t> others;  ///< places in TrialRecord::others
  Member score = nullptr, tie_break = nullptr;
  bool maximize = false;  ///< of values of TrialRecord::best
  /// Seeds, as at_best() found: the same ones where there are too few to divide.
  std::vector<std::uint64_t> choosing{}, judging{};

  bool divided() const { return choosing != judging; }
};

/// Where no seed is of two configurations (imports), or of two rows: numbers the seeds of each anew
/// from 1, by their order, so that they can be divided alike. Says whether it did.
bool align_seeds(std::vector<TrialRecord>& records);

/// Keeps in each row the configurations with the best values: those whose median over
/// configurations (each the median over its choosing seeds) is the best. The units are made of
/// their trials with judging seeds. Seeds are divided, the first ones choose, where that leaves
/// enough for a verdict: 2 to choose and units_needed() to evaluate, or 1 and 1 where rows still
/// hold several configurations.
UnitTable at_best(const std::vector<TrialRecord>& records, BestOver& best_over);

}  // namespace thalweg::db::analysis
