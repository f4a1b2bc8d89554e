// The run of thalweg-perf on one rank.
#pragma once

#include "engine/perf/options.h"

namespace thalweg::engine::perf {

// Exit codes.
constexpr int kFailed = 1;    ///< a result was wrong, a rank was lost, a file cannot be written
constexpr int kUsage = 2;     ///< wrong command line
constexpr int kStopped = 75;  ///< on request; what had been measured is reported

/// Connects the ranks, measures, reports on rank 0; returns the exit code. Errors go to stderr.
/// Once per process: SIGINT and SIGTERM stop it, a second one a second later ends it at once.
int run(const Options& options);

}  // namespace thalweg::engine::perf
