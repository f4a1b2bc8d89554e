// Runs of other programs as the record takes them: Controller::import_runs() makes a sweep of them
// that has finished.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/state/owner.h"
#include "jobspec/trial.h"

namespace thalweg::daemon {

struct ImportedPoint {
  std::int64_t step = 0;
  double value = 0;
  double time = 0;  ///< Unix seconds; 0 = not known
};

struct ImportedRun {
  std::string source;      ///< what the other program calls it
  std::string parameters;  ///< JSON object; equal texts are one configuration
  /// Empty = the first that no run of the same parameters has.
  std::optional<std::uint64_t> seed;
  std::map<std::string, std::vector<ImportedPoint>> curves;  ///< by metric

  /// Of its points that say one, the first and the last; 0 = none does.
  std::pair<double, double> times() const;
  /// Where only some points say one: seconds counted from those would leave the others out.
  void forget_partial_times();
};

struct Import {
  std::string name, source;
  jobspec::Metric metric;
  std::vector<ImportedRun> runs;
  std::string owner;             ///< user name
  std::optional<Owner> runs_as;  ///< whose they are, on a site
};

/// A sweep file for the record, which every part that reads one can read. It has no trials to run.
std::string imported_text(const Import& import);

/// Sets seeds that are missing; gives the number of each run's configuration, from 1.
std::vector<std::int64_t> number_configurations(std::vector<ImportedRun>& runs);

}  // namespace thalweg::daemon
