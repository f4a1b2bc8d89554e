#include "daemon/state/resources.h"

#include <nlohmann/json.hpp>

namespace thalweg::daemon {

nlohmann::json resources_json(const jobspec::Resources& r) {
  return {{"nodes", r.nodes},
          {"ranks_per_node", r.ranks_per_node},
          {"threads_per_rank", r.threads_per_rank},
          {"time_limit_s", r.time_limit_s},
          {"memory_mib", r.memory_mib},
          {"gpus_per_node", r.gpus_per_node}};
}

jobspec::Resources resources_from(const nlohmann::json& json) {
  jobspec::Resources r;
  r.nodes = json.value("nodes", r.nodes);
  r.ranks_per_node = json.value("ranks_per_node", r.ranks_per_node);
  r.threads_per_rank = json.value("threads_per_rank", r.threads_per_rank);
  r.time_limit_s = json.value("time_limit_s", r.time_limit_s);
  r.memory_mib = json.value("memory_mib", r.memory_mib);
  r.gpus_per_node = json.value("gpus_per_node", r.gpus_per_node);
  return r;
}

nlohmann::json slurm_json(const jobspec::SlurmOptions& options) {
  return nlohmann::json::parse(jobspec::write_slurm(options).to_json());
}

jobspec::SlurmOptions slurm_from(const nlohmann::json& json) {
  jobspec::SlurmOptions options;
  jobspec::Complaints complaints("event");
  const jobspec::Value block = jobspec::read_yaml(json.dump(), "event");
  for (const std::string& key : jobspec::slurm_keys())
    if (const jobspec::Value* value = block.find(key))
      jobspec::read_slurm_key(key, *value, "slurm." + key, options, complaints);
  return options;
}

nlohmann::json metric_json(const jobspec::Metric& metric) {
  nlohmann::json json{{"name", metric.name},
                      {"goal", metric.goal == jobspec::Goal::minimize ? "minimize" : "maximize"}};
  if (metric.target) json["target"] = *metric.target;
  return json;
}

jobspec::Metric metric_from(const nlohmann::json& json) {
  jobspec::Metric metric;
  metric.name = json.value("name", metric.name);
  if (json.value("goal", "minimize") == "maximize") metric.goal = jobspec::Goal::maximize;
  if (json.contains("target")) metric.target = json["target"].get<double>();
  return metric;
}

}  // namespace thalweg::daemon
