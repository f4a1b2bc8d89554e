// From a job as the agent shows it (daemon/slurm_agent/protocol.md) to a JobStatus. Pure.
#pragma once

#include "daemon/backend/backend.h"
#include "daemon/slurm_agent/messages.h"

namespace thalweg::daemon {

/// An unknown state is never taken as an end.
JobStatus slurm_status(const slurm_agent::JobFacts& job);

}  // namespace thalweg::daemon
