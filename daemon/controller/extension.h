// What a changed sweep file adds to a sweep that is there. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "db/store.h"
#include "jobspec/schema.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {

/// The trials of `wanted` that are not among `there`, numbered on from the last; a configuration
/// that is there keeps its number. Throws std::invalid_argument where a trial that is there would
/// not be in the new file: what it is compared with would be another sweep. `by_number`: of a sweep
/// that chooses by results, those beyond the last number.
std::vector<jobspec::ExpandedTrial> missing_trials(const jobspec::Expansion& wanted,
                                                   const std::vector<db::TrialRow>& there,
                                                   bool by_number = false);

/// Of each configuration that is not closed the seeds from `first` to `last`, numbered on from the
/// last trial, in the order of configurations.
std::vector<db::TrialRow> next_seeds(const std::vector<db::TrialRow>& there,
                                     const std::set<std::int64_t>& closed, std::int64_t first,
                                     std::int64_t last);

/// The rows with `key` ("epochs" or "steps") of `train` at `value`, and the hashes that go with it.
/// Throws std::invalid_argument, with a remedy, where one of them cannot go on beyond its end as if
/// it had been that long from the start.
std::vector<db::TrialRow> lengthened(std::vector<db::TrialRow> trials, const std::string& key,
                                     std::int64_t value, const jobspec::Schema& schema);

}  // namespace thalweg::daemon
