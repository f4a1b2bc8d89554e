// What a changed sweep file adds to a sweep that is there. Pure.
#pragma once

#include <vector>

#include "db/store.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {

/// The trials of `wanted` that are not among `there`, numbered on from the last; a configuration
/// that is there keeps its number. Throws std::invalid_argument where a trial that is there would
/// not be in the new file: what it is compared with would be another sweep.
std::vector<jobspec::ExpandedTrial> missing_trials(const jobspec::Expansion& wanted,
                                                   const std::vector<db::TrialRow>& there);

}  // namespace thalweg::daemon
