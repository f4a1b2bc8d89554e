// Ways to combine a bucket's gradients over the ranks otherwise than shard by shard.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/group.h"
#include "engine/sync/bucket_reducer.h"
#include "engine/sync/sync_state.h"

namespace thalweg::engine {

/// The bits of the result depend on the number of ranks, but are the same on all of them. Used by
/// one thread at a time.
class BucketSum {
 public:
  virtual ~BucketSum() = default;
  /// part.leaves[0] holds the sum of this rank's shards and gets the combined ones. Null: they are
  /// there. All ranks call it for the same buckets in the same order. Throws CommError.
  virtual std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step) = 0;
  virtual std::vector<SyncState> states() { return {}; }
  /// Whether the combined gradients are the sum of all, but for rounding.
  virtual bool adds_up() const { return false; }
};

/// Leaves each rank its own gradients.
class NoSum final : public BucketSum {
 public:
  std::unique_ptr<comm::Request> start(const GradientPart&, std::int64_t) override {
    return nullptr;
  }
};

}  // namespace thalweg::engine
