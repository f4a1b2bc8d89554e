// What a trial's `train` tree may hold, checked and completed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/compile_options.h"
#include "engine/nn/device_table.h"
#include "engine/schedule/schedule.h"
#include "engine/train/period.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

class Dataset;
class Mixer;
struct InputShape;
struct LossPlan;

/// Every section of every table: what `thalweg-train --schema` prints.
jobspec::Schema train_schema();

/// jobspec::complete_train(), with batch.per_rank as batch.global for so many ranks. Throws
/// std::invalid_argument where both are written.
jobspec::Value complete_for(const jobspec::Value& train, int ranks, const jobspec::Schema& schema,
                            const std::string& file);

/// The part of a complete tree that the trainer itself reads.
struct Settings {
  int global_batch = 0;
  std::optional<int> shards;                  ///< nothing = auto
  std::vector<double> shares;                 ///< of the shards, by rank; empty: equal
  std::int64_t compare_every = 0;             ///< steps between comparisons of replicas; 0 = never
  bool shards_optimizer = false;              ///< each rank has its part of the states
  bool repairs_replicas = false;              ///< where they differ
  bool measures_shares = false;               ///< they come from the ranks' speeds
  int servers = 0;                            ///< dedicated_servers(): ranks without shards
  int micro_batches = 1;                      ///< of a shard, one after another
  std::optional<std::int64_t> epochs, steps;  ///< exactly one of them
  std::string device;                         ///< a row of the device table
  std::string device_note;                    ///< why auto leaves a GPU alone; else empty
  Precision precision = Precision::fp32;
  bool recompute = false;
  KernelOptions kernels;  ///< a bound of workspace, until there are times
  /// Whether the algorithms of library calls are measured; automatic: on real GPUs.
  enum class Measure { automatic, always, never } measure = Measure::automatic;
  double measure_seconds = 0;  ///< after which no other call is begun
  double clip_norm = 0;
  double clip_value = 0;
  bool shuffle_once = false;  ///< one order of the samples for all epochs
  int loader_threads = 1;
  int prefetch = 1;                       ///< batches to prefetch at most
  std::optional<std::int64_t> log_every;  ///< steps; nothing = auto
  Every eval_every{Every::Unit::epochs, 1};
  bool eval_at_start = false;             ///< before the first step too
  bool always_tests = false;              ///< the test samples, with every validation
  std::optional<Every> checkpoint_every;  ///< nothing = auto
  int checkpoints_kept = 2;
  bool keeps_best = false;  ///< the best one beside them
  int noise_every = 1;      ///< steps; 0 = never
  double noise_beta = 0.99;
};

struct DeviceChoice {
  std::string name;  ///< a row of the device table
  std::string note;  ///< for the user: why a GPU is left alone
};
/// What `device: asked` means. Until the cuda device has been seen to work on a GPU, auto is the
/// cpu; throws std::invalid_argument where GPUs are asked for all the same, which would wait idly.
/// Afterwards auto is cuda where there is a GPU or one is asked for: one that is then not there
/// must not turn into days on a processor.
DeviceChoice resolve_device(const std::string& asked, int gpus_here, int gpus_per_node,
                            bool seen_on_gpu = cuda_seen_on_gpu);

/// `gpus_per_node`: what the trial's resources ask for. Throws std::invalid_argument where settings
/// exclude each other.
Settings read_settings(const jobspec::Value& complete, int gpus_per_node = 0);

/// What the device is asked beside the graph.
CompileOptions compile_options(const Settings& settings);

/// How many ranks there are.
struct Ranks {
  int here = 1;
  int of_sweep = 0;  ///< the most that a trial of the sweep has; 0 = not known
};

/// The tree's number; else the checkpoint's, `resumed` (0 = none), where it is enough for the
/// ranks; else the largest divisor of the batch up to a bound: 4 (GPUs: 1), or the smallest power
/// of two that is at least the most ranks of the sweep, so that all its trials add up alike. Where
/// none of them is enough for the ranks, the next divisor up to twice the bound. Throws
/// std::invalid_argument, remedy included, where ranks or batch do not fit. With shares there may
/// be fewer shards than ranks.
int choose_shards(const Settings& settings, const Ranks& ranks, int resumed);

/// What a user who compares numbers of ranks should know: empty, or that `shards` were chosen for
/// so many ranks and one rank would have others, hence another curve.
std::string shards_note(const Settings& settings, const Ranks& ranks, int shards);

/// How long a rank takes for a shard, and how many it computes at once. 0 s: it gets none.
struct RankSpeed {
  double seconds = 1;
  int threads = 1;
};
/// Who owns which shards, by rank, then `shards`: each shard to the rank that is done with it
/// first, so that the last one to be done is as early as can be. Ranks of equal speed: as
/// Group::first_shard.
std::vector<int> divide_shards(const std::vector<RankSpeed>& ranks, int shards);
/// Speeds that the shares stand for. Throws std::invalid_argument where they are no shares of so
/// many ranks.
std::vector<RankSpeed> speeds_of(const std::vector<double>& shares, int ranks);
/// For the user: "1, 1, 2, 4 of 8 shards".
std::string division_text(const std::vector<int>& first);

/// In how many micro-batches a shard is computed. Throws std::invalid_argument where a shard does
/// not divide into them.
int micro_batches(const Settings& settings, int shards);

/// Throws std::invalid_argument where the mixer blends labels and the loss cannot take that.
void require_blendable(const Mixer& mixer, const LossPlan& loss);

/// What a model needs to know of the data.
InputShape input_shape(const Dataset& dataset);

/// When what happens.
struct Plan {
  RunLength length;            ///< of the run, or of one whose batch stays as it is
  std::int64_t end_step = 0;   ///< after which it ends
  std::int64_t log_every = 1;  ///< steps
  Period eval{1};
  Period checkpoint;

  bool last(std::int64_t step) const { return step == end_step; }
  bool log_due(std::int64_t step) const { return last(step) || step % log_every == 0; }
  /// By steps; where seconds count a Due says it.
  bool eval_due(std::int64_t step) const { return last(step) || eval.due(step); }
  bool checkpoint_due(std::int64_t step) const {
    return !checkpoint.never() && (last(step) || checkpoint.due(step));
  }
};

/// Throws std::invalid_argument where the batch is larger than the training set.
Plan make_plan(const Settings& settings, std::size_t training_samples);

}  // namespace thalweg::engine
