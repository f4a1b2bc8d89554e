// thalweg-pack: runs trials side by side in one job of Slurm. It takes them out of the pack's queue
// (folder.h) as its job has room, starts each as a step of its own, and writes down how each ended;
// it ends when nothing is left to do. It links neither libslurm nor the engine.
#pragma once

#include <string>
#include <vector>

#include "daemon/pack/folder.h"

namespace thalweg::daemon::pack {

/// The worker began before: Slurm has started the job a second time.
inline constexpr int exit_superseded = 76;

struct WorkerOptions {
  fs::path job;  ///< its folder
  std::string scancel = "scancel";
  double look_s = 0.5;        ///< between two looks at the queue and the orders
  double heartbeat_s = 10;    ///< between two signs of life
  double idle_s = 5;          ///< with nothing to do for so long it ends
  double start_s = 120;       ///< a step that has not begun after so long gets no place any more
  double least_left_s = 120;  ///< of the job's time, for a trial without a limit of its own
};

/// Works until nothing is left to do, or the job's time is over. Returns the program's exit code.
/// Once per process, from its main thread: it takes over the signals. SIGTERM asks all trials to
/// end, SIGUSR1 tells them that their time is nearly over.
int work(const WorkerOptions& options);

/// `thalweg-pack --start FILE -- COMMAND...`: notes in FILE that the step has begun (the first rank
/// does) and becomes COMMAND. Returns only where that cannot be run, with the exit code.
int start_step(const fs::path& file, const std::vector<std::string>& command);

}  // namespace thalweg::daemon::pack
