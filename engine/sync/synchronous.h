// The synchronous mode, for modes that differ from it only in how gradients are combined.
#pragma once

#include <memory>

#include "engine/sync/bucket_sum.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// `scale` multiplies each sample's gradient; `sum` combines the ranks' (null: over all shards).
std::unique_ptr<SyncMode> make_synchronous(const SyncParts& parts, const SyncOptions& options,
                                           float scale, std::unique_ptr<BucketSum> sum);

/// Scales a gradient down to norm `longest` where it is longer (Pascanu et al., arXiv:1211.5063).
/// The sum runs in memory order in double: the same bits everywhere.
void clip(float* gradient, std::size_t count, double longest);

/// Cuts each element to [-largest, largest]; what is not finite stays, to be seen.
void clip_values(float* gradient, std::size_t count, double largest);

}  // namespace thalweg::engine
