// From resources, Slurm options and the attempt's folder to sbatch's options.
#include "daemon/backend/slurm_request.h"

#include "jobspec/time_warning.h"

namespace thalweg::daemon {
namespace {

constexpr std::int64_t minute_s = 60;

/// A task of the job is a place for one trial, so that all of a trial lies on one node. How many
/// nodes that are is Slurm's choice.
void ask_for_places(const LaunchRequest& request, jobspec::SlurmRequest& asked) {
  const jobspec::Resources& r = request.resources;
  const int cores = r.ranks_per_node * r.threads_per_rank;
  asked["job-name"] = "thalweg-" + attempt_name(request.id) + "-pack";
  const std::string trials = std::to_string(request.shared->trials);
  asked["nodes"] = request.shared->trials == 1 ? "1" : "1-" + trials;
  asked["ntasks"] = trials;
  asked["cpus-per-task"] = std::to_string(cores);
  if (r.memory_mib > 0) asked["mem-per-cpu"] = std::to_string(memory_per_core(r)) + "M";
  if (r.gpus_per_node > 0) asked["gpus-per-task"] = std::to_string(r.gpus_per_node);
  asked["no-kill"] = "";
}

void ask_for_ranks(const LaunchRequest& request, jobspec::SlurmRequest& asked) {
  const jobspec::Resources& r = request.resources;
  asked["job-name"] = "thalweg-" + attempt_name(request.id);
  if (r.elastic()) {
    // Slurm takes no more nodes than tasks, and counts tasks on the fewest nodes where they are
    // given for each: so one for each node, with the cores of all its ranks; srun says the rest.
    asked["nodes"] = std::to_string(r.min_nodes) + "-" + std::to_string(r.nodes);
    asked["cpus-per-task"] = std::to_string(r.ranks_per_node * r.threads_per_rank);
  } else {
    asked["nodes"] = std::to_string(r.nodes);
    asked["ntasks"] = std::to_string(r.ranks());
    asked["ntasks-per-node"] = std::to_string(r.ranks_per_node);
    asked["cpus-per-task"] = std::to_string(r.threads_per_rank);
  }
  if (r.memory_mib > 0) asked["mem"] = std::to_string(r.memory_mib) + "M";
  if (r.gpus_per_node > 0) asked["gpus-per-node"] = std::to_string(r.gpus_per_node);
  // To the ranks: a signal to the batch shell would reach srun only.
  const TimeWarning warning = time_warning(r, request.slurm.signal_before_end_s);
  if (warning.by_slurm_s > 0) asked["signal"] = "USR1@" + std::to_string(warning.by_slurm_s);
}

}  // namespace

std::int64_t memory_per_core(const jobspec::Resources& resources) {
  const std::int64_t cores = resources.ranks_per_node * resources.threads_per_rank;
  return (resources.memory_mib + cores - 1) / cores;
}

std::string attempt_name(const jobspec::Id& id) {
  const std::string name = id.to_string();
  if (id.sweep != 0) return name;
  return "<sweep>" + (id.trial == 0 ? "" : name.substr(name.find('.')));
}

jobspec::SlurmRequest slurm_request(const LaunchRequest& request) {
  jobspec::SlurmRequest asked = request.slurm.options;
  if (request.shared)
    ask_for_places(request, asked);
  else
    ask_for_ranks(request, asked);
  asked["time"] = std::to_string(time_limit_minutes(request.resources));
  asked["chdir"] = request.folder.string();
  asked["output"] = literal_path((request.folder / "stdout.log").string());
  asked["error"] = literal_path((request.folder / "stderr.log").string());
  asked["open-mode"] = "append";
  asked["no-requeue"] = "";
  return asked;
}

std::vector<std::string> sbatch_lines(const jobspec::SlurmRequest& request) {
  std::vector<std::string> lines;
  for (const jobspec::SlurmOption& option : jobspec::slurm_options()) {
    const auto asked = request.find(std::string(option.name));
    if (asked == request.end()) continue;
    lines.push_back("#SBATCH " + jobspec::sbatch_argument(asked->first, asked->second));
  }
  return lines;
}

std::string literal_path(const std::string& path) {
  std::string text;
  for (const char c : path)
    text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

std::int64_t time_limit_minutes(const jobspec::Resources& resources) {
  return jobspec::slurm_limit_s(resources.time_limit_s) / minute_s;
}

TimeWarning time_warning(const jobspec::Resources& resources, std::int64_t wanted_s) {
  const std::int64_t limit_s = jobspec::slurm_limit_s(resources.time_limit_s);
  const std::int64_t warning_s = jobspec::warning_s(limit_s, wanted_s);
  if (warning_s == 0) return {};
  if (jobspec::slurm_warns_in_time(limit_s, warning_s)) return {warning_s, 0};
  return {0, limit_s - warning_s};
}

std::int64_t earliest_warning_s(const jobspec::Resources& resources, std::int64_t wanted_s) {
  const TimeWarning warning = time_warning(resources, wanted_s);
  if (warning.by_slurm_s == 0) return warning.by_script_after_s;
  return (time_limit_minutes(resources) - 1) * minute_s - warning.by_slurm_s;
}

}  // namespace thalweg::daemon
