// Attempts as Slurm jobs, through thalweg-slurm-agent: submitted held with the token in the
// comment, recorded by the controller, then released; so a crash leaves at worst a held job that
// nobody waits for. A job is ours only if number AND token agree: Slurm can hand out a number
// again.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <vector>

#include "daemon/backend/backend.h"
#include "daemon/backend/slurm_script.h"

namespace thalweg::daemon {

class SlurmAgent;

struct SlurmBackendConfig {
  std::string agent_program = "thalweg-slurm-agent";  ///< with its path, or looked for in PATH
  /// Of an agent for a whole site (thalweg-slurm-agent --site), which is used instead of starting
  /// one; empty = none.
  std::string agent_socket{};
  NodePrograms programs{};
  std::string srun = "srun";  ///< a name (PATH of the job) or a path
  /// An agent's call blocks ten seconds at most, a submission makes up to five: longer means that
  /// it hangs.
  double request_timeout_s = 60;
  /// From SIGTERM to the ranks until the job is ended: long enough for a checkpoint.
  double cancel_grace_s = 30;
  /// Share of the Slurm controller's time that listing jobs may take: a listing that took d seconds
  /// is used again for d / share seconds, max_reuse_s at most.
  double listing_share = 0.02;
  double max_reuse_s = 30;
  int max_jobs = 0;  ///< jobs that wait or run at once; 0 = no limit
  /// What jobs start with where a request says nothing, NAME=value; empty = this process's
  /// environment without what belongs to this machine (job_environment in environment.h).
  std::vector<std::string> environment;
};

/// Never blocks: the agent is a child process (or a service of the site's, agent_socket), started
/// at the first request and again (with growing pauses) when it ends. Single-threaded: everything
/// happens on `executor`. Destroying it ends the agent.
std::unique_ptr<Backend> make_slurm_backend(boost::asio::any_io_executor executor,
                                            const SlurmBackendConfig& config);
/// The same with an agent that is there already.
std::unique_ptr<Backend> make_slurm_backend(std::shared_ptr<SlurmAgent> agent,
                                            const SlurmBackendConfig& config);

}  // namespace thalweg::daemon
