// `submit --from`: a trial of another sweep, or the best configuration of one, as a sweep of its
// own.
#pragma once

#include "cli/commands/submission.h"
#include "cli/commands/trial_sweep.h"

namespace thalweg::cli {

struct DerivedOptions {
  std::string from;  ///< empty: the sweep comes from a file
  bool best = false;
  std::string scaling = "auto";
  TrialChanges changes;
};
void add_derived_options(Arguments& arguments, DerivedOptions& options);

struct DerivedSweep {
  std::string text, backend;
  jobspec::Id from;
  std::vector<std::string> told;  ///< for people: what was taken, what was scaled
};
/// Throws CommandError.
DerivedSweep derive_sweep(Context& context, const DerivedOptions& options);

}  // namespace thalweg::cli
