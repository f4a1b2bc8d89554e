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
#include "engine/sync/bucket_tuner.h"
#include "engine/sync/buckets.h"
#include "engine/sync/device/shard_runner.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"
#include "engine/sync/rendezvous.h"
#include "engine/threads/threads.h"

namespace thalweg::engine {

/// One step: run(), then wait() for every bucket, then finish(). With several sets the sums of a
/// step may run while the next one is computed: its own are then held until start_held(), after
/// finish() of the step before. For one thread. Throws CommError.
class GradientPath {
 public:
  /// `sum` combines the ranks' gradients and must outlive this; null: the sum over all shards of
  /// all ranks, whose bits do not depend on the number of ranks. `scale` multiplies every sample's
  /// gradient. `sets`: memory for the gradients of so many steps; run() takes one after another.
  GradientPath(const SyncParts& parts, const SyncOptions& options, float scale,
               BucketSum* sum = nullptr, int sets = 1);

  /// Before the first step: sums do not begin before hurry(), which the caller calls after run();
  /// until then the group is his, and while they run it is `wait`'s, in a thread of its own.
  void hold_sums(BucketReducer::Wait wait);
  /// Before the first step: a rank may make several passes in a step, and its sums are always held.
  void accumulate() { accumulates_ = true; }
  /// What needs all ranks before the first step: run() calls it where nobody has.
  void prepare();
  /// Forward and backward of this rank's shards. Sums start as soon as their buckets are full, or
  /// are held where those of the step before are not finished.
  void run(const StepInput& input, StepOutcome& outcome);
  /// Another pass of the step that run() has begun: its gradients are added. With accumulate().
  void run_more(const StepInput& input, StepOutcome& outcome);
  bool held() const { return held_; }
  /// Starts the sums that run() has held.
  void start_held();
  /// Whether the sums under way are there: waiting for them takes no time.
  bool is_summed() { return summed().reducer->is_done(); }
  /// Whether sums are under way that finish() has not ended.
  bool summing() const { return under_way_; }
  /// Nothing is computed any more meanwhile: sums under way may have the processor.
  void hurry();
  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// In which order to wait for buckets.
  const std::vector<std::size_t>& order() const { return order_; }
  void wait(std::size_t bucket);
  void wait_for_all();
  /// Flat memory of all gradients; of a bucket after its wait(). That of the step whose sums were
  /// started last.
  float* gradient() { return summed().work[0].gradient; }
  /// The same of one of the sets, after prepare(); which one gradient() is.
  float* gradient(std::size_t set) { return sets_[set].work[0].gradient; }
  std::size_t set() const { return summed_; }
  /// The set that run() would take next, for gradients that come from elsewhere.
  std::size_t take_set() { return computed_ = (computed_ + 1) % sets_.size(); }
  /// Whether any shard of any rank touched the parameter in this step. Collective where the model
  /// may leave parameters out.
  bool present(int parameter);
  /// Whether this step compares a small batch's gradient with the whole one's.
  bool measures_noise() const { return sets_[summed_].measures; }
  /// Running statistics; of the outcome, the times of waiting. After all buckets.
  void finish(StepOutcome& outcome);
  /// By StepStat, of all shards; from finish() to finish().
  const float* summed_stats() const { return told_.data(); }
  /// Passes of each rank in the step of the last finish(). With accumulate().
  const std::vector<int>& passes() const { return passes_; }

 private:
  std::size_t statistics() const { return p_.model.statistics(); }
  // Behind `step_stats` each shard brings (where the model may leave parameters out) one flag for
  // each parameter, then (with accumulate()) the passes of each rank, then (where there are several
  // ranks) how long each part took on each rank in the step before.
  std::size_t flags_at() const { return statistics() + step_stats; }
  std::size_t passes_at() const;
  std::size_t times_at() const;
  std::size_t stat_count() const;
  std::size_t parts() const { return buckets_.size() + 1; }

  /// Of a step's sums on this rank.
  struct Times {
    std::vector<PartTime> parts;  ///< empty: not known
    double compute_end_ms = 0;
    double waited_ms = 0;
  };
  /// The gradients of a step under way.
  struct Set {
    std::unique_ptr<comm::Memory> gradients;  ///< of the local shards; peers may reach it
    std::vector<Buffer> stats;
    std::vector<ShardSums> work;  ///< one for each local shard; at least one, for the sums
    int passes = 0;               ///< of this rank
    std::int64_t step = 0;
    bool measures = false;
    std::int64_t small_batch = 0;  ///< whose norm is taken: each in its turn
    bool stop = false;             ///< this rank's wish
    Times told;                    ///< of an earlier step, which go with its stats
    Stopwatch since_start;         ///< of the sums
    double compute_end_ms = 0;     ///< when nothing was computed any more, since they began
    std::unique_ptr<BucketReducer> reducer;  // last: its thread ends before the memory goes
  };
  Set& computed() { return sets_[computed_]; }
  Set& summed() { return sets_[summed_]; }

  void plan(const BucketSizes& sizes);
  void set_parts(Set& set);
  void agree_on_plan();
  void rebuild();
  void tune();
  void regroup(const BucketSizes& sizes);
  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step);
  void begin_sums();
  void allocate_spare();
  double pace_of(int shard, const StepInput& input) const;
  threads::Clock::duration shard_time(int shard, const StepInput& input) const;
  void run_in_time(ShardRunner& runner, ShardRunner::Task task, threads::Clock::duration whole);
  void complete(std::size_t parameter);
  void run_shard(int shard, Executor& executor, const StepInput& input);
  void add_pass(int shard, Executor& executor, const StepInput& input);
  std::int64_t micro_batches() const;
  Shard micro_batch(std::size_t number, const StepInput& input) const;
  void note_ready(int parameter);
  bool computes(int rank) const {
    return firsts_[static_cast<std::size_t>(rank)] < firsts_[static_cast<std::size_t>(rank) + 1];
  }
  int first_computing() const;
  void hear_those_who_run_along();
  void write_times();
  void read_times(StepOutcome& outcome);

  SyncParts p_;
  SyncOptions options_;
  float scale_;
  BucketSum* sum_;
  std::vector<int> firsts_;   ///< Group::first_shards
  comm::ShardTree own_tree_;  ///< of this rank's shards alone
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> bucket_of_;  ///< of each parameter
  std::vector<GradientRange> ranges_;   ///< the parameters
  std::vector<int> ready_order_;        ///< by which buckets_ are planned
  std::optional<BucketTuner> tuner_;    ///< while bucket sizes are measured
  Stopwatch since_run_;
  std::vector<std::unique_ptr<ShardRunner>> runners_;  ///< one for each executor

  std::unique_ptr<Rendezvous> meeting_;  ///< of the shards; null where they need none
  bool accumulates_ = false;             ///< accumulate()
  std::vector<FlatVector> spare_;  ///< a pass that is to be added: gradients and stats by turns
  std::vector<int> passes_;        ///< passes()
  bool prepared_ = false;
  bool rebuilt_ = false;
  std::mutex mutex_;              ///< of the two below, in the first step
  std::vector<int> shards_left_;  ///< by parameter
  std::vector<int> measured_;     ///< parameters in the order in which they were complete here

  bool stats_here_ = false;
  std::array<float, step_stats> told_{};  ///< summed_stats()
  double waited_ms_ = 0;
  Times last_;  ///< of the last step whose sums are finished

  std::vector<Set> sets_;
  std::size_t computed_ = 0;  ///< the set of the last run()
  std::size_t summed_ = 0;    ///< the set whose sums were started last
  bool under_way_ = false;    ///< these sums
  bool held_ = false;         ///< those of computed_ are not started
  bool hold_ = false;         ///< hold_sums()
};

}  // namespace thalweg::engine
