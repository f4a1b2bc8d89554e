// Pages of `thalweg serve` beside a sweep's report: the list of sweeps, a sweep's trials, a trial.
#pragma once

#include <string>

#include "cli/commands/common.h"

namespace thalweg::cli {

/// The newest sweeps. `root`: what each address begins with, "/TOKEN/".
std::string sweeps_page(Context& context, const std::string& root);
/// The trials of a sweep, each a link. Throws ApiError where there is no such sweep.
std::string trials_page(Context& context, const std::string& root, const jobspec::Id& id);
/// A trial: how it stands, curves, attempts, where the time went, what it printed last, what it
/// ran with. Throws ApiError where there is no such trial.
std::string trial_page(Context& context, const std::string& root, const jobspec::Id& id);

/// Links to other pages, for a page of several sweeps, and for a sweep's report.
std::string links_to_list(const std::string& root);
std::string links_of_sweep(const std::string& root, const jobspec::Id& id);

}  // namespace thalweg::cli
