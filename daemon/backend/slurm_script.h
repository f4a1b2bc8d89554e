// What a Slurm job consists of, as pure functions: the batch script.
#pragma once

#include <string>
#include <vector>

#include "daemon/backend/backend.h"

namespace thalweg::daemon {

/// What ranks run, with its path, as compute nodes see it.
struct NodePrograms {
  std::string train = "thalweg-train", attempt = "thalweg-attempt";

  const std::string& of(const LaunchRequest& request) const {
    return request.own_program ? attempt : train;
  }
};

struct BatchScript {
  LaunchRequest request;  ///< its folder holds trial.yaml
  std::string srun = "srun";
  std::string program;  ///< of each rank, takes trial.yaml
};

/// The whole text, with "#!" and the #SBATCH lines of slurm_request(). A request with `shared`
/// gives the job of a pack. Everything but the setup lines is quoted for sh.
std::string batch_script(const BatchScript& job);

/// The command of an attempt's step in a job that several share (its request is the attempt's, with
/// `shared`), a word each; pack::start_word (daemon/pack/folder.h) stands in it.
std::vector<std::string> shared_step(const BatchScript& job);

}  // namespace thalweg::daemon
