// The part of the `train.sync` tree that all modes share.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/sync/buckets.h"
#include "jobspec/fwd.h"
#include "jobspec/options.h"

namespace thalweg::engine {

struct SyncOptions {
  BucketSizes buckets;
  bool tunes_buckets = false;      ///< measures which sizes are best, `buckets` being the usual
  bool overlap = true;             ///< sums start while backward still runs
  bool forward_first = false;      ///< finish what the next forward needs first
  std::int64_t compare_every = 0;  ///< steps between two comparisons of the replicas; 0: never
  bool shards_optimizer = false;   ///< each rank updates its part of the weights alone
  std::chrono::milliseconds stall_timeout = comm::GroupOptions().stall_timeout;
  std::string gpu_exchange = "auto";  ///< a row of the table of exchanges
};

std::vector<jobspec::Option> sync_options();

/// An option in seconds.
std::chrono::milliseconds milliseconds_of(const jobspec::Options& options, const char* name);

struct CompressRow;

/// The `train.sync` tree, read: missing keys have their defaults.
struct SyncConfig {
  /// Throws std::invalid_argument ("did you mean") where there is no such compression.
  SyncConfig(const jobspec::Value& tree, const std::vector<jobspec::Option>& of_mode);

  SyncOptions common;
  jobspec::Options mode;  ///< of its row
  const CompressRow& compress;
  jobspec::Options compression;  ///< of its row

  bool compresses() const;
};

}  // namespace thalweg::engine
