// The synchronous mode for models whose memory is a GPU's.
#pragma once

#include <memory>

#include "engine/sync/bucket_sum.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// As make_synchronous(), for a model with gpu(). step() waits for no work of its own step: it
/// returns what has become of the step before.
std::unique_ptr<SyncMode> make_gpu_synchronous(const SyncParts& parts, const SyncOptions& options,
                                               float scale, std::unique_ptr<BucketSum> sum);

}  // namespace thalweg::engine
