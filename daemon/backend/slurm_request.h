// What an attempt asks of Slurm, as sbatch's options: one structure that the #SBATCH lines of the
// batch script show and that the agent hands to libslurm, so that the two cannot disagree. Pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/backend/backend.h"

namespace thalweg::daemon {

/// The whole request but for what makes the job ours (held, comment, environment).
jobspec::SlurmRequest slurm_request(const LaunchRequest& request);

/// "12.3.1", of a job of a pack "12"; "<sweep>" where the sweep has no number yet (a dry run).
std::string attempt_name(const jobspec::Id& id);

/// Its lines, "#SBATCH --nodes=2" and so on, in the order of jobspec::slurm_options().
std::vector<std::string> sbatch_lines(const jobspec::SlurmRequest& request);

/// Slurm expands "%j" and the like in the names of output files; ours are meant as they are.
std::string literal_path(const std::string& path);

/// MiB, rounded up; 0 where no memory is asked for. Of one node's share of a trial.
std::int64_t memory_per_core(const jobspec::Resources& resources);

/// Slurm counts in minutes, rounded up.
std::int64_t time_limit_minutes(const jobspec::Resources& resources);

/// How the ranks are told that their time is nearly over: SIGUSR1 from Slurm so many seconds before
/// the limit or, where that may come too early, from the batch script after so many; 0: not so.
struct TimeWarning {
  std::int64_t by_slurm_s = 0, by_script_after_s = 0;
};
TimeWarning time_warning(const jobspec::Resources& resources, std::int64_t wanted_s);

/// How long a job has run at the least when that warning comes, in seconds; 0 = none comes.
std::int64_t earliest_warning_s(const jobspec::Resources& resources, std::int64_t wanted_s);

}  // namespace thalweg::daemon
