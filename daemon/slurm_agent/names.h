// Names of job states and reasons. The numbers behind them differ between releases, so only names
// leave the agent.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg::slurm_agent {

/// "PENDING", "RUNNING", ... of the base state; flags are ignored.
std::string state_name(std::uint32_t job_state);
/// As squeue shows it: "Resources", "Priority", "NonZeroExitCode"; empty for no reason; "Reason 99"
/// for rare ones.
std::string reason_name(std::uint32_t reason);

}  // namespace thalweg::slurm_agent
