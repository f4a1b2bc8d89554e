// What a launch needs, as JSON. Resources: {"nodes", "ranks_per_node", "threads_per_rank",
// "time_limit_s", "memory_mib", "gpus_per_node"}, with "min_nodes" where it is elastic, the same in
// events, in the database and in the API. Slurm options: the keys of the sweep file's `slurm`
// block.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "jobspec/sweep.h"

namespace thalweg::daemon {

nlohmann::json resources_json(const jobspec::Resources& resources);
/// Missing keys keep their defaults. Throws nlohmann::json::exception on a wrong type.
jobspec::Resources resources_from(const nlohmann::json& json);

nlohmann::json slurm_json(const jobspec::SlurmOptions& options);
jobspec::SlurmOptions slurm_from(const nlohmann::json& json);

/// As trial.yaml has it.
nlohmann::json program_json(const jobspec::Program& program);
jobspec::Program program_from(const nlohmann::json& json);

nlohmann::json metric_json(const jobspec::Metric& metric);
jobspec::Metric metric_from(const nlohmann::json& json);

}  // namespace thalweg::daemon
