// The trials of a sweep as `show` lists them.
#pragma once

#include "cli/commands/common.h"
#include "cli/output/trial_labels.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {

/// Why it failed, waits, or is tried again; whether its newest value is of any use.
std::string reason_of(const daemon::api::AboutTrial& trial);

/// The first so many, each by what tells it from the others.
Table trial_table(const daemon::api::SweepSnapshot& sweep, const TrialLabels& labels,
                  std::size_t limit);

/// For programs: whole numbers in place of "12.10" (which reads as 12.1), one column for each
/// parameter.
void print_trials_csv(Context& context, const daemon::api::SweepSnapshot& sweep);

}  // namespace thalweg::cli
