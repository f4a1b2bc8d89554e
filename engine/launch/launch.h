// Runs the ranks of one attempt on this machine to their end.
#pragma once

#include "engine/launch/options.h"

namespace thalweg::engine::launch {

// Exit codes that are the launcher's own (2 as of all our programs; sysexits.h has 70, 73;
// timeout(1) 124; shells 126, 127).
constexpr int kUsage = 2;
constexpr int kStartFailed = 70;
constexpr int kClaimed = 73;
constexpr int kStopped = 75;  ///< every rank stopped on request
constexpr int kTimeLimit = 124;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

/// Returns the exit code; what fails is told on stderr and in the records. Once per process, from
/// the main thread: it takes over the signals.
int launch(const Options& options);

}  // namespace thalweg::engine::launch
