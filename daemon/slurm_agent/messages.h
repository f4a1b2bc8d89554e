// Between the lines of JSON (protocol.md) and plain structures. Throws nlohmann::json::exception
// where a member is missing or has another type; the caller answers "bad_request".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/slurm_agent/calls.h"

namespace thalweg::slurm_agent {

inline constexpr int protocol_version = 2;

JobRequest job_request(const nlohmann::json& request);
nlohmann::json to_json(const JobFacts& job);
nlohmann::json to_json(const Partition& partition);
nlohmann::json to_json(const Failure& failure);  ///< {"ok": false, ...}

}  // namespace thalweg::slurm_agent
