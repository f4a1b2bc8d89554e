// From axes to configurations: enumerating them, and checking each kind of combination once.
#pragma once

#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "jobspec/check.h"
#include "jobspec/reader.h"
#include "jobspec/relations.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec {

/// Calls `visit(index, combination)` in expansion order until it returns false; duplicates
/// included, combinations that break a constraint, or differ only in an axis that is left out, not.
/// For a grid, run_cap is not looked at; a random sweep ends with it, and draws again where all
/// combinations of a draw break a constraint. Of `each`, every draw meets all values before the
/// next draw, so that a larger run_cap keeps the first configurations. Throws BadConstraint.
void for_each_combination(const Sweep& sweep,
                          const std::function<bool(std::int64_t, const Combination&)>& visit);

/// `train` and resources of a combination.
Value resolve_train(const Sweep& sweep, const Combination& combination);
Resources resolve_resources(const Sweep& sweep, const Combination& combination);

/// Complains where resolved configurations break the schema: an option that the picked optimizer
/// does not have, a draw outside an option's range, a batch that does not divide. Looks at every
/// combination that it is shown, but at the whole tree only once for each kind of combination.
class ConfigurationCheck {
 public:
  ConfigurationCheck(const Sweep& sweep, const Schema& schema, Diagnostics& diagnostics);
  void visit(const Combination& combination);
  /// After every combination of a grid: reports parameters that none of them has.
  void finish_whole_grid();

 private:
  void check_sample(std::size_t axis, const Value& value);
  void check_kind(const Combination& combination);
  Place place_of(const std::string& path) const;

  const Sweep& sweep_;
  const Schema& schema_;
  Diagnostics& diagnostics_;
  std::vector<Target> targets_;        // per axis
  std::vector<std::size_t> deciding_;  // axes that pick variants or must divide: they make the kind
  std::vector<std::size_t> conditional_;  // axes with a condition: so does their absence
  std::vector<std::size_t> endless_;      // axes whose every draw must be looked at
  std::set<std::size_t> never_set_;       // of those, up to now
  std::set<std::string> kinds_, reported_;
  std::string kind_;
};

/// Whether so many configurations of a grid are all that run_cap allows.
bool is_last(const Sweep& sweep, std::int64_t configurations);

/// False, after a diagnostic, where there would be more trials than anyone can mean.
bool check_size(const Sweep& sweep, Diagnostics& diagnostics);

void report_error(const BadConstraint& bad, Diagnostics& diagnostics);

/// Combinations of a grid that keep the constraints; where there are more than `most`, a number
/// above it. Throws BadConstraint.
double count_kept(const Sweep& sweep, double most);

/// check_size and ConfigurationCheck over the whole sweep.
void check_configurations(const Sweep& sweep, const Schema& schema, Diagnostics& diagnostics);

}  // namespace thalweg::jobspec
