#include "daemon/state/resources.h"

#include <nlohmann/json.hpp>

#include "jobspec/enum_names.h"
#include "jobspec/reader.h"

namespace thalweg::daemon {

namespace {

/// Their names in JSON, each written once.
template <class Resources, class Field>
void each_field(Resources& r, Field&& field) {
  field("nodes", r.nodes);
  field("ranks_per_node", r.ranks_per_node);
  field("threads_per_rank", r.threads_per_rank);
  field("time_limit_s", r.time_limit_s);
  field("memory_mib", r.memory_mib);
  field("gpus_per_node", r.gpus_per_node);
}

}  // namespace

nlohmann::json resources_json(const jobspec::Resources& resources) {
  nlohmann::json json;
  each_field(resources, [&](const char* name, const auto& value) { json[name] = value; });
  if (resources.elastic()) json["min_nodes"] = resources.min_nodes;
  return json;
}

jobspec::Resources resources_from(const nlohmann::json& json) {
  jobspec::Resources resources;
  each_field(resources, [&](const char* name, auto& value) { value = json.value(name, value); });
  resources.min_nodes = json.value("min_nodes", 0);
  return resources;
}

nlohmann::json slurm_json(const jobspec::SlurmOptions& options) {
  return nlohmann::json::parse(jobspec::write_slurm(options).to_json());
}

jobspec::SlurmOptions slurm_from(const nlohmann::json& json) {
  jobspec::SlurmOptions options;
  jobspec::Diagnostics diagnostics("event");
  const jobspec::Value block = jobspec::read_yaml(json.dump(), "event");
  for (const std::string& key : jobspec::slurm_keys())
    if (const jobspec::Value* value = block.find(key))
      jobspec::read_slurm_key(key, *value, "slurm." + key, options, diagnostics);
  return options;
}

nlohmann::json program_json(const jobspec::Program& program) {
  return nlohmann::json::parse(jobspec::write_program(program).to_json());
}

jobspec::Program program_from(const nlohmann::json& json) {
  jobspec::Diagnostics diagnostics("event");
  return jobspec::read_written_program(jobspec::read_yaml(json.dump(), "event"), "program",
                                       diagnostics);
}

nlohmann::json metric_json(const jobspec::Metric& metric) {
  nlohmann::json json{{"name", metric.name}, {"goal", jobspec::name_of(metric.goal)}};
  if (metric.targets.size() == 1) json["target"] = metric.targets.front();
  if (metric.targets.size() > 1) json["targets"] = metric.targets;
  return json;
}

jobspec::Metric metric_from(const nlohmann::json& json) {
  jobspec::Metric metric;
  metric.name = json.value("name", metric.name);
  if (const auto goal = jobspec::find_name<jobspec::Goal>(json.value("goal", "")))
    metric.goal = *goal;
  if (json.contains("target")) metric.targets = {json["target"].get<double>()};
  if (json.contains("targets")) metric.targets = json["targets"].get<std::vector<double>>();
  return metric;
}

}  // namespace thalweg::daemon
