// One rank of a trial that runs a program of the user's own: starts it, watches over it, and has
// rank 0 write the journal that the engine would write.
#pragma once

#include <filesystem>

#include "engine/attempt/stop.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

/// `folder`: the attempt's. Returns the exit code, an ExitCode: finished; stopped, where the
/// program ended because it was asked to (or with 75 by itself); bad_input, where it cannot be run,
/// `setup` failed, or it ended with 2; superseded; failed. What went wrong is on stderr, and in the
/// journal or failure.rank<r>.json.
int supervise(const jobspec::Trial& trial, const std::filesystem::path& folder,
              const StopFlag& stop);

}  // namespace thalweg::engine
