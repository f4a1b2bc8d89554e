// The forward and backward of a rank's shards on its GPU, one after another, and the captured
// graphs of a step's work.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/comm/reduction/shard_tree.h"
#include "engine/nn/executor.h"
#include "engine/sync/bucket_reducer.h"
#include "engine/sync/buckets.h"
#include "engine/sync/device/gpu/augment.h"
#include "engine/sync/device/shard_runner.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

/// Memory must outlive the work that uses it: for destructors. A failure has been told to whoever
/// waited for the step.
void wait_before_the_end(gpu::Stream& stream) noexcept;

/// For one thread. Nothing is allocated and nothing is waited for in a step, once both slots of
/// memory for batches have been in use twice. Wants SyncParts::batches.
class GpuShards {
 public:
  struct Options {
    float scale = 1;               ///< multiplies every sample's gradient
    bool sum_locally = true;       ///< the sum of this rank's shards ends in the first one's memory
    bool measures = false;         ///< the first micro-batch's squares are wanted (stat_squares)
    bool mark_buckets = true;      ///< ready() will be asked for
    bool staged = false;           ///< sums run on copies, which stage() makes
    bool accumulates = false;      ///< staged: of several passes, which add_up() has added
    std::size_t beside_bytes = 0;  ///< what goes to the GPU with every batch: beside()
  };
  /// `scale` and `sum` as GradientPath; the rest is the caller's.
  static Options options_of(const SyncParts& parts, float scale, const BucketSum* sum);
  /// Slots for batches: while one is computed the next is copied.
  static constexpr std::size_t slots = 2;

  GpuShards(const SyncParts& parts, const Options& options, const std::vector<Bucket>& buckets);
  ~GpuShards();

  /// Checks a step's batch and puts it on its way to the GPU; what is put into stream() afterwards
  /// waits for it. `beside`: Options::beside_bytes that go along. The batch of `slots` steps before
  /// must be done. Throws std::invalid_argument on a label that is no class.
  void take(const StepInput& input, const std::byte* beside = nullptr);
  /// Where the last take() has put what goes beside its batch, in the GPU's memory.
  const void* beside() const { return slot_[slot_now_].beside.data(); }
  /// Puts forward and backward over the batch of the last take() into stream(), and then what
  /// `rest` puts there, which is the same for the same `kind` and slot: the first time as work,
  /// from then on as a captured graph. With draw_labels: labels are drawn.
  void run(const StepInput& input, int kind = 0, const std::function<void()>& rest = {});
  /// `work` alone, as the rest of run(); its kinds are others.
  void run_captured(int kind, const std::function<void()>& work);
  /// The copy of the parameters in bfloat16 that the executor reads; null: there is none. Who
  /// changes the parameters may write it along, and then says so before the next run().
  gpu::Bf16* narrow_parameters() const;
  void parameters_changed(bool narrow_ones_too) { narrow_ones_hold_ = narrow_ones_too; }
  Executor& executor() const { return p_.executors.executor(0); }
  gpu::Stream& stream() { return *stream_; }
  gpu::Gpu& machine() { return machine_; }
  /// Blocks until the batch of the last take() is on the GPU: its memory may be filled anew.
  void wait_until_taken() { slot_[slot_now_].arrived->wait(); }
  /// With Options::accumulates: the results of the last run() are added to those of the passes
  /// before; `first`: there are none.
  void add_up(bool first);
  /// With Options::staged: puts copies of the results into stream(); what follows overwrites the
  /// results alone. The copies before must have been used. `passes`: how many were added up.
  void stage(int passes = 1);
  /// For what waits for sums over the ranks: stream(), or where they run on copies another one.
  gpu::Stream& sums_stream() { return sums_stream_ ? *sums_stream_ : *stream_; }
  /// What is summed of local shard i; with sum_locally of the first one alone. The GPU's memory.
  float* gradient(std::size_t i) { return summed(i).gradient.floats(); }
  /// The model's statistics, then `step_stats`, then with Options::accumulates the passes of each
  /// rank.
  float* stats(std::size_t i) { return summed(i).stats.floats(); }
  std::size_t results() const { return options_.sum_locally ? 1 : work_.size(); }
  std::size_t passes_at() const { return p_.model.statistics() + step_stats; }
  std::size_t stat_count() const {
    return passes_at() + (options_.accumulates ? static_cast<std::size_t>(p_.group.size()) : 0);
  }
  /// What is summed over the ranks.
  std::vector<GradientPart> parts();
  /// When a bucket of result i is complete, as part of the last run() or stage(); its memory is
  /// then read no more and may be overwritten. Bucket numbers beyond the last: everything.
  const gpu::Event& ready(std::size_t i, std::size_t bucket) const {
    return *ready_[i][std::min(bucket, buckets_.size())];
  }

 private:
  /// Where a shard is computed.
  struct Work {
    gpu::Memory gradient, stats;
  };
  struct Slot {
    gpu::Memory device, beside_on_host, beside;
    std::unique_ptr<gpu::Event> arrived;
  };
  Work& summed(std::size_t i) { return options_.staged ? copies_of_work_[i] : work_[i]; }
  void check(const std::byte* memory) const;
  void write_keys(const StepInput& input) const;
  Work work_of(const char* what) const;
  void compute(const Slot& slot, bool blended, bool draw_labels, bool take_parameters);
  void do_again(int key, const std::function<void()>& work);
  void sum_shards(std::vector<Work>& shards);
  void compute_shard(std::size_t shard, const Slot& slot, bool blended, bool draw_labels);
  Shard micro_batch(std::size_t number, const Slot& slot, bool blended, bool draw_labels);
  void mark(std::size_t shard, std::size_t bucket);

  SyncParts p_;
  Options options_;
  gpu::Gpu& machine_;
  const std::vector<Bucket> buckets_;
  comm::ShardTree own_tree_;
  std::unique_ptr<gpu::Stream> stream_, copies_, sums_stream_;
  const BatchLayout layout_;                 ///< of a slot
  std::vector<Work> work_;                   ///< one for each local shard
  std::vector<Work> added_up_;               ///< of each local shard, where passes are
  std::vector<Work> copies_of_work_;         ///< of results(), where they are staged
  gpu::Memory passes_;                       ///< of this rank, pinned
  const std::vector<GradientRange> ranges_;  ///< the buckets
  ShardRunner runner_;
  Slot slot_[slots];
  std::unique_ptr<GpuAugment> augment_;  ///< where batches are raw
  std::size_t slot_now_ = 0;             ///< that of the last run()
  std::vector<std::vector<std::unique_ptr<gpu::Event>>> ready_;
  bool narrow_ones_hold_ = false;  ///< narrow_parameters() are the parameters' present values
  /// By slot, and what is done: how often it was, and from the second time on its graph.
  struct Captured {
    int times = 0;
    std::unique_ptr<gpu::CapturedGraph> graph;
  };
  std::map<std::pair<std::size_t, int>, Captured> captured_;
};

}  // namespace thalweg::engine
