// The part of the `train.sync` tree that all modes share.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/sync/buckets.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

struct SyncOptions {
  BucketSizes buckets;
  bool overlap = true;         ///< sums start while backward still runs
  bool forward_first = false;  ///< finish what the next forward needs first
  std::chrono::milliseconds stall_timeout = comm::GroupOptions().stall_timeout;
  std::string gpu_exchange = "auto";  ///< a row of the table of exchanges
};

/// Missing keys have their defaults.
SyncOptions read_sync_options(const jobspec::Value& options);

std::vector<jobspec::Option> sync_options();

}  // namespace thalweg::engine
