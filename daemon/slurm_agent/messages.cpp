#include "daemon/slurm_agent/messages.h"

#include <nlohmann/json.hpp>

namespace thalweg::slurm_agent {

using nlohmann::json;

JobRequest job_request(const json& request) {
  JobRequest r;
  r.name = request.at("name");
  r.token = request.at("token");
  r.script = request.at("script");
  r.folder = request.at("folder");
  r.output = request.at("output");
  r.error = request.at("error");
  r.environment = request.at("environment").get<std::vector<std::string>>();
  r.shape.nodes = request.at("nodes");
  r.shape.tasks_per_node = request.at("tasks_per_node");
  r.shape.cpus_per_task = request.at("cpus_per_task");
  r.shape.memory_mib = request.value("memory_mib", std::int64_t{0});
  r.shape.minutes = request.at("minutes");
  r.shape.partition = request.value("partition", "");
  r.account = request.value("account", "");
  r.qos = request.value("qos", "");
  r.reservation = request.value("reservation", "");
  r.constraint = request.value("constraint", "");
  r.gres = request.value("gres", "");
  r.nodelist = request.value("nodelist", "");
  r.exclude = request.value("exclude", "");
  r.licenses = request.value("licenses", "");
  r.exclusive = request.value("exclusive", false);
  r.gpus_per_node = request.value("gpus_per_node", 0);
  r.warn_signal = request.value("warn_signal", 0);
  r.warn_seconds = request.value("warn_seconds", 0);
  return r;
}

json to_json(const JobFacts& job) {
  return {{"job", job.job},         {"token", job.token},
          {"name", job.name},       {"state", job.state},
          {"reason", job.reason},   {"nodes", job.nodes},
          {"held", job.held},       {"completing", job.completing},
          {"started", job.started}, {"ended", job.ended},
          {"exit", job.exit},       {"steps_exit", job.steps_exit}};
}

json to_json(const Partition& partition) {
  return {{"name", partition.name},
          {"default", partition.is_default},
          {"up", partition.submittable && partition.schedulable},
          {"nodes", partition.nodes.size()},
          {"min_nodes", partition.min_nodes},
          {"max_nodes", partition.max_nodes},
          {"max_minutes", partition.max_minutes}};
}

json to_json(const Failure& failure) {
  return {{"ok", false},
          {"outcome", name(failure.outcome)},
          {"code", failure.code},
          {"message", failure.message}};
}

}  // namespace thalweg::slurm_agent
