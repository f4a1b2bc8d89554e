// The way of gradients from a GPU to the other ranks and back: buckets are copied into host memory
// as backward completes them, summed there while it goes on, and copied back.
#pragma once

#include <memory>
#include <vector>

#include "engine/sync/bucket_reducer.h"
#include "engine/sync/bucket_sum.h"
#include "engine/sync/gpu_shards.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// For one thread and more than one rank. Throws CommError.
class GpuExchange {
 public:
  /// `sum` combines the ranks' sums; null: the sum over all shards of all ranks.
  GpuExchange(const SyncParts& parts, const SyncOptions& options, GpuShards& shards,
              const std::vector<Bucket>& buckets, BucketSum* sum);

  /// After shards.run(): waits for backward, and for the sums; what follows in the shards' queue
  /// sees them in gradient(0) and extra(0). `stop`: this rank's wish.
  void run(std::int64_t step, bool stop);
  /// How long the last run() waited for sums after backward had ended.
  double waited_ms() const { return waited_ms_; }
  /// Of the last run(). Skew between ranks counts as communication.
  CommTimes times() const { return times_; }

 private:
  std::unique_ptr<comm::Request> start(const GradientPart& part);
  std::vector<GradientPart> parts_of(const std::vector<Bucket>& buckets);
  void fetch();
  void bring_back(std::size_t part);
  float* leaf(std::size_t result) const { return host_[result].floats(); }

  SyncParts p_;
  GpuShards& shards_;
  BucketSum* sum_;
  std::vector<Bucket> buckets_;
  std::vector<gpu::Memory> host_;  ///< of each result: its gradient, then its extras
  std::unique_ptr<gpu::Queue> copies_;
  std::vector<std::vector<std::unique_ptr<gpu::Event>>> copied_;  ///< by result and part
  std::unique_ptr<gpu::Event> back_;
  std::int64_t step_ = 0;
  double waited_ms_ = 0;
  CommTimes times_;
  std::unique_ptr<BucketReducer> reducer_;  // last: its thread ends before the memory goes
};

}  // namespace thalweg::engine
