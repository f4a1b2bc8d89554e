#include "daemon/controller/backends.h"

#include "base/process.h"
#include "daemon/backend/local.h"
#include "daemon/backend/packed.h"
#include "daemon/backend/slurm.h"
#include "daemon/controller/config.h"
#include "daemon/controller/controller.h"

namespace thalweg::daemon {

namespace {

constexpr double local_file_lag_s =
    1;  ///< a local disk shows everything at once; a launcher needs a moment to end

BackendSetup make_local(boost::asio::any_io_executor, const Config& config) {
  return {make_local_backend(config.local), config.local_poll_s, local_file_lag_s};
}

std::string on_nodes(const std::string& configured, const std::string& name) {
  if (!configured.empty()) return configured;
  const std::string found = find_program(name).string();
  return found.empty() ? name : found;
}

/// Where only the engine's place on the nodes is configured, the other one is beside it.
std::string attempt_on_nodes(const Config& config) {
  const std::filesystem::path engine = config.slurm.engine_program;
  const bool beside = config.slurm.attempt_program.empty() && engine.has_parent_path();
  if (beside) return engine.parent_path() / "thalweg-attempt";
  return on_nodes(config.slurm.attempt_program, "thalweg-attempt");
}

/// thalweg-pack as compute nodes see it: of the installation that thalweg-attempt is of.
std::string worker_on_nodes(const std::string& attempt) {
  constexpr const char* path = "libexec/thalweg/thalweg-pack";
  const std::filesystem::path program = attempt;
  if (program.has_parent_path()) return (program.parent_path().parent_path() / path).string();
  const std::string found = find_in_prefix(path).string();
  return found.empty() ? "thalweg-pack" : found;
}

constexpr int polls_at_rest = 15;  ///< left out while there is nothing to be seen

BackendSetup make_slurm(boost::asio::any_io_executor executor, const Config& config) {
  SlurmBackendConfig wanted;
  const std::string agent = find_program(config.slurm.agent_program).string();
  wanted.agent_program = agent.empty() ? config.slurm.agent_program : agent;
  if (config.site.enabled) wanted.agent_socket = config.site.agent_socket;
  wanted.programs = {on_nodes(config.slurm.engine_program, "thalweg-train"),
                     attempt_on_nodes(config)};
  wanted.max_jobs = config.slurm.max_jobs;
  PackedConfig packed;
  packed.programs = wanted.programs;
  packed.worker = worker_on_nodes(wanted.programs.attempt);
  packed.token = new_token;
  return {make_packed_backend(make_slurm_backend(executor, wanted), packed), config.slurm.poll_s,
          config.slurm.file_lag_s, config.slurm.start_timeout_s,
          polls_at_rest * config.slurm.poll_s};
}

}  // namespace

const std::vector<BackendRow>& backend_rows() {
  static const std::vector<BackendRow> rows = {
      {"slurm", "jobs of a Slurm cluster, through thalweg-slurm-agent", make_slurm, true},
      {"local", "processes on this machine, through thalweg-launch", make_local},
  };
  return rows;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const auto& row : backend_rows())
    names.emplace_back(row.name);
  return names;
}

}  // namespace thalweg::daemon
