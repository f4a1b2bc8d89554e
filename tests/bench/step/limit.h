// What the machine can do: large matrix products by oneDNN in its own layouts.
#pragma once

#include "engine/sync/executor_pool.h"

namespace thalweg::engine::bench {

/// GFLOP/s of all executors together, the best of a few turns.
double attainable_gflops(ExecutorPool& executors, bool bf16);

}  // namespace thalweg::engine::bench
