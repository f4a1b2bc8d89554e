// From a rank's samples to gradients that are the same on all ranks: the shards' forward and
// backward, the buckets, and their sums under way meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/reduction/shard_tree.h"
#include "engine/nn/executor.h"
#include "engine/sync/bucket_reducer.h"
#include "engine/sync/bucket_sum.h"
#include "engine/sync/buckets.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"
#include "engine/sync/rendezvous.h"
#include "engine/sync/shard_runner.h"

namespace thalweg::engine {

/// One step: run(), then wait() for every bucket, then finish(). For one thread. Throws CommError.
class GradientPath {
 public:
  /// `sum` combines the ranks' gradients and must outlive this; null: the sum over all shards of
  /// all ranks, whose bits do not depend on the number of ranks. `scale` multiplies every sample's
  /// gradient.
  GradientPath(const SyncParts& parts, const SyncOptions& options, float scale,
               BucketSum* sum = nullptr);

  /// Forward and backward of this rank's shards. Sums start as soon as their buckets are full.
  void run(const StepInput& input, StepOutcome& outcome);
  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// In which order to wait for buckets.
  const std::vector<std::size_t>& order() const { return order_; }
  void wait(std::size_t bucket);
  void wait_for_all();
  /// Flat memory of all gradients; of a bucket after its wait().
  float* gradient() { return work_[0].gradient; }
  /// Whether any shard of any rank touched the parameter in this step. Collective where the model
  /// may leave parameters out.
  bool present(int parameter);
  /// Whether this step compares a small batch's gradient with the whole one's.
  bool measures_noise() const { return measures_; }
  /// Running statistics; of the outcome, the times of waiting. After all buckets.
  void finish(StepOutcome& outcome);
  /// By Extra, of all shards; from finish() to finish().
  const float* summed_extras() const { return told_.data(); }

 private:
  std::size_t statistics() const { return p_.model.statistics(); }
  // Behind `extras` each shard brings (where the model may leave parameters out) one flag for each
  // parameter, then (where there are several ranks) how long each part took on each rank in the
  // step before.
  std::size_t flags_at() const { return statistics() + extras; }
  std::size_t times_at() const;
  std::size_t extra_count() const;
  std::size_t parts() const { return buckets_.size() + 1; }

  void prepare();
  void plan(const std::vector<int>& ready_order);
  void set_parts();
  void agree_on_plan();
  void rebuild();
  std::unique_ptr<comm::Request> start(const GradientPart& part);
  void run_shard(int shard, Executor& executor, const StepInput& input);
  Shard micro_batch(std::size_t number, const StepInput& input) const;
  void note_ready(int parameter);
  void write_times();
  void read_times(StepOutcome& outcome);

  SyncParts p_;
  SyncOptions options_;
  float scale_;
  BucketSum* sum_;
  std::int64_t step_ = 0;
  comm::ShardTree own_tree_;  ///< of this rank's shards alone
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> bucket_of_;       ///< of each parameter
  std::unique_ptr<comm::Memory> gradients_;  ///< of the local shards; peers may reach it
  std::vector<Buffer> extras_;
  std::vector<ShardSums> work_;                        ///< one for each local shard
  std::vector<Stretch> stretches_;                     ///< the parameters
  std::vector<std::unique_ptr<ShardRunner>> runners_;  ///< one for each executor

  std::unique_ptr<Rendezvous> meeting_;  ///< of the shards; null where they need none
  bool measures_ = false;
  std::int64_t small_batch_ = 0;  ///< whose norm is taken: each in its turn

  bool prepared_ = false;
  bool rebuilt_ = false;
  std::mutex mutex_;              ///< of the two below, in the first step
  std::vector<int> shards_left_;  ///< by parameter
  std::vector<int> measured_;     ///< parameters in the order in which they were complete here

  bool extras_here_ = false;
  std::array<float, extras> told_{};  ///< summed_extras()
  double waited_ms_ = 0;
  double compute_ms_ = 0;
  std::vector<PartTime> last_times_;  ///< of the step before; empty: not known
  double last_compute_ms_ = 0;
  double last_waited_ms_ = 0;

  std::unique_ptr<BucketReducer> reducer_;  // last: its thread ends before the memory goes
};

}  // namespace thalweg::engine
