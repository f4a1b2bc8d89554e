// A bucket, or what travels beside the gradients, on a GPU: this rank's additions of its sum over
// all shards, in the order of the fixed tree.
#pragma once

#include <vector>

#include "engine/comm/reduction/shard_sum_plan.h"
#include "engine/sync/device/gpu/shards.h"

namespace thalweg::engine {

/// After which partial sums how many additions of `tree.across` are due: what gpu::sum_in_tree
/// takes. Throws std::logic_error where too many sums would be open at a time.
std::vector<int> joins_of(const comm::ShardTree& tree);

class PartOnGpu {
 public:
  /// `leaves`, of this rank's shards, and `scratch` (ShardSumPlan::scratch_floats) are the GPU's
  /// memory, aligned to 64 bytes.
  PartOnGpu(gpu::Gpu& machine, const comm::ShardTree& tree, const comm::Group& group,
            std::vector<float*> leaves, std::size_t count, float* scratch);

  float* scratch() const { return scratch_; }
  const comm::ShardSumPlan& plan() const { return plan_; }

  /// Adds what this rank can add alone, for others to get.
  void add_own(gpu::Stream& stream) const;
  /// Adds up the own slice, once the others' partial sums are here.
  void add_up(gpu::Stream& stream) const;

 private:
  const std::vector<comm::ShardTree::Add> own_;
  std::vector<float*> leaves_;
  std::size_t count_;
  float* scratch_;
  comm::ShardSumPlan plan_;
  gpu::Memory places_, joins_;  ///< of sum_in_tree
  int number_;
};

/// What is summed at once: the buckets, then the stats.
class PartsOnGpu {
 public:
  /// `side_by_side`: several parts may be under way at a time, each has scratch memory of its own.
  PartsOnGpu(const SyncParts& parts, GpuShards& shards, bool side_by_side);
  std::size_t size() const { return parts_.size(); }
  const PartOnGpu& operator[](std::size_t part) const { return parts_[part]; }

  /// Once the part is complete on this GPU: what this rank adds alone, and its wish to stop.
  void add_own(gpu::Stream& stream, std::size_t part, bool stop) const;

 private:
  GpuShards& shards_;
  std::size_t stop_at_;  ///< in the stats
  gpu::Memory scratch_;
  gpu::Memory wishes_;  ///< 0 and 1: copies of them need nothing of the host
  std::vector<PartOnGpu> parts_;
};

}  // namespace thalweg::engine
