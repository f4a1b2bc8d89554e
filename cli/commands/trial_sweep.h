// A sweep of its own made from a trial of another: what the trial ran with comes from its record,
// where paths are absolute already; the rest of the sweep file (metric, limits, slurm, env) as it
// was written. The controller checks the new file as any other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/common.h"
#include "jobspec/value.h"

namespace thalweg::cli {

/// What the record says of a trial and its sweep.
struct RecordedTrial {
  jobspec::Id id;
  std::int64_t seed = 1;
  std::string train, resources;  ///< JSON
  std::string text, name, backend;
  std::optional<std::int64_t> batch;  ///< global, as it ran: nothing where it has never started
};

/// RecordedTrial::resources.
jobspec::Resources recorded_resources(const std::string& json);

/// Throws CommandError (not found) where there is none.
RecordedTrial find_recorded(Context& context, const jobspec::Id& id);

/// What the command line says beside the trial.
struct TrialChanges {
  std::string seeds;
  std::vector<std::string> changes;
};
void add_trial_changes(Arguments& arguments, TrialChanges& changes);

/// The new sweep file, with one configuration.
jobspec::Value sweep_of_trial(const RecordedTrial& recorded, const TrialChanges& with);

}  // namespace thalweg::cli
