// What a Slurm job consists of, as pure functions: the batch script.
#pragma once

#include <string>
#include <vector>

#include "daemon/backend/backend.h"

namespace thalweg::daemon {

struct BatchScript {
  LaunchRequest request;  ///< its folder holds trial.yaml
  std::string srun = "srun";
  std::string program;  ///< of each rank, takes trial.yaml
};

/// The whole text, with "#!" and the #SBATCH lines of slurm_request(). Everything but the setup
/// lines is quoted for sh.
std::string batch_script(const BatchScript& job);

}  // namespace thalweg::daemon
