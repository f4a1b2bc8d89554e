// How ranks work on one model together: the table of ways, and what a way needs and gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/group.h"
#include "engine/data/batch_form.h"
#include "engine/nn/model.h"
#include "engine/optim/optimizer.h"
#include "engine/sync/executor_pool.h"
#include "engine/sync/overlap.h"
#include "engine/sync/replica.h"
#include "engine/sync/sync_state.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

struct BucketChoice;
struct Emulation;
struct PassTime;

/// Logical shards of the global batch; rank r owns leaves [first, end).
struct Sharding {
  int shards = 1;
  int global_batch = 1;  ///< a multiple of shards
  int first = 0;
  int end = 1;
  int micro_batches = 1;  ///< in which a shard is computed; shard_batch() is a multiple of it

  int shard_batch() const { return global_batch / shards; }
  int micro_batch() const { return shard_batch() / micro_batches; }  ///< samples an executor takes
  int mine() const { return end - first; }
  /// The smallest of the batches that a gradient is taken over, all ranks' together.
  std::int64_t small_batches() const { return std::int64_t{shards} * micro_batches; }
  /// Position in the global batch of the first sample of this rank's micro-batch `number`.
  std::uint64_t first_sample(std::size_t number) const {
    return static_cast<std::uint64_t>(first) * static_cast<std::uint64_t>(shard_batch()) +
           number * static_cast<std::uint64_t>(micro_batch());
  }
};

/// A gradient that a server has taken.
struct Arrival {
  int server = 0;              ///< rank
  int worker = 0;              ///< group of ranks; mode async: rank
  std::int64_t step = 0;       ///< of the worker
  std::int64_t staleness = 0;  ///< other updates since the worker's weights were sent
};

/// A round of the mode abs, whose gradients are summed.
struct Round {
  std::int64_t number = 0;
  std::vector<int> passes;  ///< by rank
  std::int64_t samples = 0;
};

/// What a mode joins. The references must outlive it.
struct SyncParts {
  const Model& model;
  const Optimizer<float>& optimizer;
  comm::Group& group;
  ExecutorPool& executors;
  Replica& replica;
  Sharding sharding;
  std::uint64_t seed = 1;  ///< of the trial; keys dropout
  double clip_norm = 0;    ///< largest norm of the whole gradient; 0 = any
  double clip_value = 0;   ///< largest size of an element of the gradient, cut before; 0 = any
  int noise_every = 0;     ///< steps between two StepOutcome::noise; 0 = never
  /// On a GPU: how StepInput::memory is to be read.
  const BatchForm* batches = nullptr;
  std::int64_t total_steps = 0;          ///< of the trial; 0: not known
  const Emulation* emulation = nullptr;  ///< null: ranks are as fast as they are
  int emulated_rank = -1;                ///< whose slowness counts; -1: the group's own rank
  const PassTime* pass_time = nullptr;   ///< in a world of its own clock; null: as long as it takes
  /// Told of every update that a server makes, by its thread; null: nobody.
  std::function<void(const Arrival& arrival)> on_arrival{};
  /// Told of every round; null: nobody.
  std::function<void(const Round& round)> on_round{};
  /// Told which sizes sync.bucket_mib: auto has found; null: nobody.
  std::function<void(const BucketChoice& choice)> on_buckets{};
  /// For a replay: how many passes this rank makes in a round. Null: as the options say.
  std::function<int(std::int64_t round)> passes{};

  int rank_to_emulate() const { return emulated_rank < 0 ? group.rank() : emulated_rank; }
};

/// What decides whether a mode can work, known before anything is allocated.
struct SyncFacts {
  int ranks = 1;
  int machines = 1;
  int own_shards = 1;     ///< of the rank that has most
  int min_shards = 1;     ///< of the rank that has least, dedicated_servers() apart
  bool emulates = false;  ///< SyncParts::emulation
  int micro_batches = 1;  ///< in which a shard is computed
  int threads = 1;        ///< executors of a rank
  bool on_gpu = false;
  bool joins_shards = false;        ///< Model::joins_shards
  bool touches_all = true;          ///< Model::touches_all
  bool observes_curvature = false;  ///< Optimizer::observes_curvature
  bool has_eval_weights = false;    ///< Optimizer::has_eval_weights
  bool elementwise = true;          ///< all that the optimizer does is (is_elementwise)
  bool keeps_scalars = false;       ///< Optimizer::own or scalars
};

struct StepInput;

/// Samples for a mode that does not know beforehand how many a step takes.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// After those that were wanted before: this rank wants these shards of global batches, as many
  /// as it has; number s * Sharding::shards + i is shard i of the s-th global batch.
  virtual void want(const std::vector<std::int64_t>& shards) = 0;
  /// Puts the next of them into `input`, until it is called again. Waits for them.
  virtual void next(StepInput& input) = 0;
};

/// This rank's part of the global batch, its shards one after another.
struct StepInput {
  StepContext context;
  /// Of a mode with SyncRow::on_demand, in place of the pointers to samples.
  SampleSource* source = nullptr;
  /// By local shard: which one it is, as SampleSource::want() numbers them; null: those of
  /// Sharding, of the global batch of this step.
  const std::int64_t* shards = nullptr;
  const float* inputs = nullptr;
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  const std::int32_t* labels_b = nullptr;  ///< Batch::labels_b, as labels
  const float* shares_b = nullptr;         ///< Batch::shares_b, one a sample
  std::size_t sample_floats = 0;
  std::size_t sample_labels = 1;   ///< labels in a sample
  std::size_t sample_targets = 0;  ///< real targets in a sample
  /// On a GPU: in place of the pointers above, in pinned memory; the keys are written there. It
  /// must stay until the outcome of this step is known.
  std::byte* memory = nullptr;
  bool stop = false;         ///< this rank was asked to stop
  bool draw_labels = false;  ///< Batch::draw_labels
};

/// What tells the gradient noise scale (McCandlish et al., arXiv:1812.06162, appendix A.1): squared
/// norms of mean gradients at the same weights, before clipping. One small batch is enough: the
/// large one's fluctuations weigh as much as those of a single small one.
struct NoisePair {
  int small_batch = 0;       ///< samples an executor takes: of a shard, or of its micro-batches
  int large_batch = 0;       ///< the global batch
  double small_squares = 0;  ///< of one small batch; in the next step it is another's turn
  double large_squares = 0;
};

struct StepOutcome {
  std::int64_t step = 0;  ///< which: StepContext::step
  double loss = 0;        ///< mean over the global batch, before the update
  bool stop = false;      ///< some rank was asked to stop; the same on every rank
  /// The first parameter, as backward completes them, whose gradient holds NaN or infinity: it was
  /// not updated (on a GPU perhaps only the ranges of it that hold them: OptimizerOnGpu). Empty:
  /// none. The same on every rank.
  std::string not_finite;
  double compute_ms = 0;  ///< forward and backward
  double wait_ms = 0;     ///< for sums after backward had ended
  double optimizer_ms = 0;
  int passes = 0;            ///< of this rank, where that is not 1 in every step; else 0
  std::int64_t samples = 0;  ///< of all ranks, where that is not the global batch; else 0
  /// Of the step before: the ranks tell each other with this step's sums. Nothing for the first
  /// step, and where there is one rank.
  std::optional<CommTimes> comm_before;
  /// Where this step measured it: SyncParts::noise_every, more than one small batch, and gradients
  /// that are added up and nothing else (not powersgd, top-k, adasum).
  std::optional<NoisePair> noise;
};

/// All ranks call step() with the same context. For one thread. Throws CommError.
class SyncMode {
 public:
  virtual ~SyncMode() = default;
  /// Returns what became of this step, or, where a GPU is still at it, of the one before; nothing
  /// where nothing is known yet of any step.
  virtual std::optional<StepOutcome> step(const StepInput& input) = 0;
  /// What became of the last step where step() has not told it. Before whoever looks at the
  /// replica.
  virtual std::optional<StepOutcome> settle() { return {}; }
  /// Where ranks are at steps of their own: each waits here for all others, and then has the same
  /// weights as they. Before anything that all ranks do together. An outcome ends the run:
  /// it was found out after step() had returned. Collective.
  virtual std::optional<StepOutcome> meet() { return {}; }
  /// What the mode has measured since it was asked last, by the metric's name. After meet();
  /// collective.
  virtual std::vector<std::pair<const char*, double>> measured() { return {}; }
  /// Of a mode with SyncRow::on_demand: how many steps of the global batch make as many samples as
  /// the first `step` steps have taken, for the last few; the same on every rank.
  virtual double base_steps(std::int64_t step) { return static_cast<double>(step); }
  /// Of such a mode, after a step: whether the trial's samples have all been taken.
  virtual bool ends() { return false; }
  /// The weights to validate (Replica::evaluated), where the device wants them.
  virtual const float* evaluated() = 0;
  /// The weights that checkpoints hold, in the device's memory: the replica's, or their mean where
  /// those of the ranks differ. Null: the replica's. Collective.
  virtual const float* parameters() { return nullptr; }
  /// The gradient of the step that was told last, in the host's memory, until the next one; null:
  /// nobody has it.
  virtual const float* gradient() { return nullptr; }
  /// Somebody else has written the replica.
  virtual void replica_written() {}
  /// A sentence for the journal, or nothing.
  virtual std::string note() const { return {}; }
  /// Whether the bits are the same on any number of ranks.
  virtual bool same_on_any_ranks() const { return false; }
  /// What must go through checkpoints beside the replica; the same list on every rank. The spans
  /// stay valid as long as the mode.
  virtual std::vector<SyncState> states() { return {}; }
};

/// Whether the optimizer takes each element by itself and keeps no numbers but such states.
bool is_elementwise(const Optimizer<float>& optimizer, std::size_t parameters);

/// Throws std::invalid_argument where the mode and the compression that `options`, the `train.sync`
/// tree, names cannot work so, or do not exist ("did you mean").
void require_sync(const jobspec::Value& options, const SyncFacts& facts);

/// `options` is the `train.sync` tree. Throws as require_sync.
std::unique_ptr<SyncMode> make_sync_mode(const jobspec::Value& options, const SyncParts& parts);

/// SyncRow::on_demand of the mode that `options` names.
bool takes_on_demand(const jobspec::Value& options);

/// SyncRow::servers of the mode that `options` names.
int dedicated_servers(const jobspec::Value& options);

/// SyncRow::vectors of the mode that `options` names.
std::int64_t sync_vectors(const jobspec::Value& options, const Sharding& sharding, int ranks,
                          bool on_gpu);

std::vector<jobspec::Section> sync_schema();

/// The keys of a complete `train.sync` tree that decide where the parameters go; an empty map where
/// all have their defaults. What only moves rounding (sum, buckets, accumulate) is not among them.
jobspec::Value sync_identity(const jobspec::Value& options);

/// Whether the group is to measure its algorithms at the start (engine/comm/group/autotune.h).
bool wants_autotune(const jobspec::Value& options);

/// The group's part of the `train.sync` tree.
comm::GroupOptions group_options(const jobspec::Value& options);

/// How long ranks wait until all have started: `start_timeout_s` of the `train.sync` tree.
std::chrono::milliseconds start_timeout(const jobspec::Value& options);

struct SyncConfig;

/// A row of the table: one function and one file each.
struct SyncRow {
  const char* name;
  const char* doc;
  std::vector<jobspec::Option> options;
  /// As require_sync, of this mode.
  void (*require)(const SyncConfig& config, const SyncFacts& facts);
  /// Of what `require` has let pass.
  std::unique_ptr<SyncMode> (*maker)(const SyncConfig& config, const SyncParts& parts);
  /// Flat vectors of the model's size that it holds beside one gradient for each local shard, in
  /// the device's memory; null: none.
  std::int64_t (*vectors)(const SyncConfig& config, const Sharding& sharding, int ranks,
                          bool on_gpu) = nullptr;
  bool on_demand = false;  ///< it asks for samples (StepInput::source)
  /// How many of the ranks, the last ones, make no gradients and have no shards; null: none.
  int (*servers)(const SyncConfig& config) = nullptr;
};
SyncRow synchronous_row();
SyncRow lag_row();
SyncRow local_row();
SyncRow async_row();
SyncRow hybrid_row();
SyncRow abs_row();
SyncRow adasum_row();

}  // namespace thalweg::engine
