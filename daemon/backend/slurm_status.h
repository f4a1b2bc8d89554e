// From a job as the agent shows it (daemon/slurm_agent/protocol.md) to a JobStatus. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/backend/backend.h"

namespace thalweg::daemon {

/// Throws nlohmann::json::exception where a member is missing. An unknown state is never taken as
/// an end.
JobStatus slurm_status(const nlohmann::json& job);

}  // namespace thalweg::daemon
