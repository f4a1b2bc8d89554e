// The synchronous mode, for modes that differ from it only in how gradients are combined.
#pragma once

#include <memory>
#include <string>

#include "engine/sync/bucket_sum.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// `scale` multiplies each sample's gradient; `sum` combines the ranks' (null: over all shards).
std::unique_ptr<SyncMode> make_synchronous(const SyncParts& parts, const SyncOptions& options,
                                           float scale, std::unique_ptr<BucketSum> sum);

/// The option `sum`: over shards or over ranks. What it makes is null: over all shards.
jobspec::Option sum_option();
/// Whether it is over ranks, or compressed.
bool sums_by_ranks(const SyncConfig& config);
/// Throws std::invalid_argument where some rank has no shard: `what` needs one on each.
void require_shards_everywhere(const SyncFacts& facts, const std::string& what);
/// Throws std::invalid_argument where it does not go with the compression.
void require_sum(const SyncConfig& config);
std::unique_ptr<BucketSum> make_sum(const SyncConfig& config, const SyncParts& parts);

}  // namespace thalweg::engine
