// From a job as the agent shows it (daemon/slurm_agent/protocol.md) to a JobStatus. Pure.
#pragma once

#include "daemon/backend/backend.h"
#include "daemon/slurm_agent/messages.h"

namespace thalweg::daemon {

/// An unknown state is never taken as an end.
JobStatus slurm_status(const slurm_agent::JobFacts& job);

/// Of a job that is the one which is watched: another user's with the same token is not.
bool of_owner(const JobStatus& status, const Backend::TrackedJob& job);

/// Takes out jobs that carry the token of a watched one and are another user's.
void drop_others(std::vector<JobStatus>& statuses, const std::vector<Backend::TrackedJob>& watched);

/// A job whose comment somebody changed is still the one that was submitted.
void recognize(JobStatus& status, const Backend::TrackedJob& job);

/// Slurm does not tell whether it has sent the warning; the time that the job ran does.
bool was_warned(const JobStatus& status, const Backend::TrackedJob& job);

}  // namespace thalweg::daemon
