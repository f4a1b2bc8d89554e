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

namespace {

struct TextField {
  const char* name;
  std::string jobspec::SlurmOptions::*member;
};

using Slurm = jobspec::SlurmOptions;
constexpr TextField slurm_fields[] = {
    {"partition", &Slurm::partition},
    {"account", &Slurm::account},
    {"qos", &Slurm::qos},
    {"reservation", &Slurm::reservation},
    {"constraint", &Slurm::constraint},
    {"gres", &Slurm::gres},
    {"nodelist", &Slurm::nodelist},
    {"exclude", &Slurm::exclude},
    {"licenses", &Slurm::licenses},
};

}  // namespace

nlohmann::json slurm_json(const Slurm& options) {
  nlohmann::json json{{"exclusive", options.exclusive},
                      {"setup", options.setup},
                      {"signal_before_end_s", options.signal_before_end_s}};
  for (const auto& field : slurm_fields)
    if (!(options.*field.member).empty()) json[field.name] = options.*field.member;
  return json;
}

Slurm slurm_from(const nlohmann::json& json) {
  Slurm options;
  options.exclusive = json.value("exclusive", options.exclusive);
  options.setup = json.value("setup", options.setup);
  options.signal_before_end_s = json.value("signal_before_end_s", options.signal_before_end_s);
  for (const auto& field : slurm_fields)
    options.*field.member = json.value(field.name, "");
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
