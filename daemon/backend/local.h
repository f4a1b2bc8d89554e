// Attempts as processes on this machine, through thalweg-launch. Nothing is held here: submit
// prepares, release starts. launch.json is the claim that makes it exactly once: only its creator
// (O_EXCL) may run the attempt.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "daemon/backend/backend.h"
#include "daemon/backend/disk.h"
#include "daemon/backend/process.h"

namespace thalweg::daemon {

struct LocalBackendConfig {
  std::string launch_program =
      "thalweg-launch";  ///< a name (beside our binary, then PATH) or a path
  std::string engine_program = "thalweg-train";
  std::string attempt_program = "thalweg-attempt";  ///< of trials that run a program of the user's
  int cores = 0;                      ///< ranks x threads at once; 0 = what the machine has
  int gpus = -1;                      ///< of all attempts at once; -1 = what the machine has
  std::int64_t memory_mib = 0;        ///< that attempts may ask for at once; 0 = the machine's
  std::filesystem::path gpu_locks{};  ///< folder; empty = gpu_lock_folder()
  double grace_s = 30;                ///< from SIGTERM to SIGKILL
  double overdue_s = 30;              ///< an attempt that is there so long after all this is killed
  // Of a simulation.
  std::shared_ptr<Processes> processes{};  ///< empty: this machine's
  Disk::Threads threads = Disk::Threads::own;
  std::function<void()> before_disk{};  ///< as Disk has it
};

/// Whether an attempt may still run is decided by its folder: see the table in daemon/README.md.
/// Single-threaded, as every backend. Time limits (resources.time) are thalweg-launch's
/// to keep; where it does not (somebody stopped it), the backend ends what is left.
std::unique_ptr<Backend> make_local_backend(const LocalBackendConfig& config);

}  // namespace thalweg::daemon
