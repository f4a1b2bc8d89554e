#include "daemon/slurm_agent/messages.h"

#include <nlohmann/json.hpp>

namespace thalweg::slurm_agent {

using nlohmann::json;

JobRequest job_request(const json& request) {
  JobRequest r;
  r.token = request.value("token", "");
  r.script = request.at("script");
  r.options = request.at("options").get<Options>();
  r.environment = request.at("environment").get<std::vector<std::string>>();
  return r;
}

json to_json(const JobFacts& job) {
  return {{"job", job.job},
          {"token", job.token},
          {"name", job.name},
          {"state", job.state},
          {"reason", job.reason},
          {"nodes", job.nodes},
          {"held", job.held},
          {"completing", job.completing},
          {"folder", job.folder},
          {"released", job.released},
          {"submitted", job.submitted},
          {"started", job.started},
          {"ended", job.ended},
          {"exit", job.exit},
          {"steps_exit", job.steps_exit}};
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
