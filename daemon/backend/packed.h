// Attempts of sweeps with slurm.pack: many share one job of another backend. To the controller each
// is an attempt with a token and a handle of its own; what it is told of one follows from the files
// of the pack (daemon/pack/folder.h) and the state of the job that has it, so that a controller
// that was killed finds everything again. Requests without a pack go to the other backend as they
// are.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <functional>
#include <memory>
#include <string>

#include "daemon/backend/backend.h"
#include "daemon/backend/slurm_script.h"

namespace thalweg::daemon {

struct PackedConfig {
  std::string worker = "thalweg-pack";  ///< as compute nodes see it
  NodePrograms programs{};
  std::string srun = "srun";
  std::function<std::string()> token;  ///< unique texts that nobody can guess, for jobs
  double unneeded_s = 20;  ///< a job that waits while nothing needs it is cancelled after so long
  double silent_s = 600;   ///< a worker that gives no sign for so long is stuck: its job is ended
  double hidden_s = 60;    ///< so long may a shared filesystem hide where a task has gone
};

std::unique_ptr<Backend> make_packed_backend(std::unique_ptr<Backend> jobs,
                                             const PackedConfig& config);

}  // namespace thalweg::daemon
