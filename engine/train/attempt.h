// One attempt on this rank, with everything built and every rank in the same state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/attempt/record.h"
#include "engine/attempt/stop.h"
#include "engine/comm/group.h"
#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/data/split.h"
#include "engine/nn/model.h"
#include "engine/optim/optimizer.h"
#include "engine/schedule/schedule.h"
#include "engine/sync/buckets.h"
#include "engine/sync/device/evaluation.h"
#include "engine/sync/executor_pool.h"
#include "engine/sync/mode.h"
#include "engine/train/batch_growth.h"
#include "engine/train/checkpoint.h"
#include "engine/train/checkpoint_slice.h"
#include "engine/train/energy.h"
#include "engine/train/factory.h"
#include "engine/train/init_from.h"
#include "engine/train/interval.h"
#include "engine/train/memory.h"
#include "engine/train/noise_scale.h"
#include "engine/train/options.h"
#include "engine/train/rank_times.h"
#include "engine/train/shared_ranks.h"
#include "jobspec/trial.h"

namespace thalweg::engine {

/// The references must outlive the attempt.
struct AttemptInput {
  const jobspec::Trial& trial;
  const jobspec::Value& config;  ///< trial.train, complete
  std::filesystem::path folder;  ///< of trial.yaml
  comm::Group& group;
  const StopFlag& stop;
  const StopFlag* fence = nullptr;   ///< set when the controller has given the attempt up; rank 0's
  SharedRanks* simulated = nullptr;  ///< what the ranks of a simulation share; null: this is none

  bool fenced() const { return fence != nullptr && fence->requested(); }
};

/// Runs `part`; where it throws on any rank, every rank throws: its own exception or PeerFailed.
/// Collective.
void together(comm::Group& group, const std::function<void()>& part);

/// Members are in the order in which they are built; each may use those above it.
struct Attempt {
  /// Collective: throws on every rank or on none (but for CommError).
  Attempt(const AttemptInput& in, Record& record);
  /// Waits for what is being written; this rank's part of a set that was given up does not remain.
  ~Attempt();

  /// The memory of a GPU's batches is the attempt's.
  LoaderPlan loader_plan();
  double learning_rate(std::int64_t at) const {
    return base_lr * schedule->at(schedule_step(at)).lr;
  }
  StepContext step_context() const;  ///< of the next update
  /// Collective. Copies what a checkpoint has, which is then written while training goes on: by
  /// rank 0, and where each rank has something of its own, each that; the journal is put on the
  /// disk before, so that it is never behind the checkpoint. The one before is waited for.
  void save_checkpoint();
  /// After a step, where all ranks look alike: tells of a checkpoint that has been written. Throws
  /// where it could not be: rank 0 alone, or where that was a rank's own part, all of them.
  void look_at_checkpoint();
  /// Whether look_at_checkpoint() is collective: the same on every rank.
  bool writes_slices() const { return writing_ && writing_->slice.valid(); }
  /// Until it is written; as look_at_checkpoint(). Collective.
  void finish_checkpoint();
  /// As save_checkpoint(), and waits for it, where nothing but `best` asks for one. A file that
  /// cannot be written (a full disk) is warned of, and training goes on with the best one before
  /// it.
  void save_best();
  /// How many steps of batch.global make as much of the run: what schedules go by.
  std::int64_t schedule_step(std::int64_t at) const;
  /// The same as a number that need not be whole.
  double base_steps(std::int64_t at) const;
  double epochs() const;  ///< gone through
  /// Asks after a step whether the batch grows; collective. The next step takes resize_batch().
  bool batch_grows();
  /// Makes what works on batches for those that `growth` says.
  void resize_batch();
  bool is_root() const { return in.group.rank() == 0; }
  /// Whether the trial's method wants to see it compared before it goes on (a rung).
  bool pauses() const { return pause_step > 0 && step >= pause_step && !plan.last(step); }
  /// Whether the stop rule ends the run here.
  bool stops() const { return !stop_rule.reason().empty(); }

  AttemptInput in;
  Record& record;
  Factory factory;
  Settings settings;
  Emulation emulation;
  bool on_demand = false;  ///< the mode asks for samples: a step's are not known before
  std::shared_ptr<Dataset> dataset;
  std::unique_ptr<Augmenter> augmenter;
  std::unique_ptr<Mixer> mixer;
  Split samples;
  Plan plan;
  double base_lr = 0;
  Sharding sharding;
  std::shared_ptr<Model> model;
  std::vector<WeightName> names;  ///< of its arrays
  double flops_per_sample = 0;    ///< of a training step
  std::unique_ptr<Optimizer<float>> optimizer;
  std::unique_ptr<Schedule> schedule;
  StopRule stop_rule;
  Best best;
  std::int64_t pause_step = 0;  ///< a validation after which it pauses; 0 = none
  std::unique_ptr<Replica> replica;
  std::unique_ptr<ExecutorPool> executors;
  std::optional<BatchForm> batches;       ///< those that a GPU gets
  std::vector<gpu::Memory> batch_memory;  ///< pinned
  std::unique_ptr<Evaluation> evaluation;
  std::unique_ptr<SyncMode> mode;
  std::optional<BucketSizes> tuned_buckets;  ///< by sync.bucket_mib: auto, once they are found
  std::int64_t step = 0;                     ///< optimizer steps completed
  bool resumed = false;                      ///< from a checkpoint of this run
  std::optional<Beginning> beginning;        ///< rank 0's, by init_from; nothing once resumed
  bool looked_at_validation = false;         ///< for what is not finite in the data
  /// Samples that gradients were computed of: by this rank in this attempt, and by all ranks in
  /// those before (rank 0's; nothing where that is not known).
  std::int64_t samples_taken = 0;
  std::optional<std::int64_t> samples_before = 0;
  Interval interval;
  RankTimes rank_times;
  EnergyMeter energy;
  NoiseScale noise;
  BatchGrowth growth;
  /// What the attempt has spent on other things than training, in seconds.
  struct Spent {
    double kernels = 0;  ///< measuring them, before the first step
    double validation = 0, checkpoints = 0;
  } spent;
  double startup_s = 0;  ///< from the start of the program to that of the first step

 private:
  BatchSource batch_source() const { return {*dataset, *augmenter, *mixer}; }
  void load_data();
  void require_one_device();
  void require_gpus();
  void choose_device();
  void place_shards(int shards);
  /// Collective.
  void divide_shards();
  RankSpeed measured_speed() const;
  jobspec::Value resolved_config() const { return factory.resolved(settings, sharding.shards); }
  std::vector<std::filesystem::path> checkpoint_folders() const;
  /// Collective.
  void choose_kernels();
  std::shared_ptr<Model> build_for(const Settings& with) const;
  std::unique_ptr<ExecutorPool> make_executors();
  void tell_emulation();
  void build();
  void make_mode();
  void require_growth() const;
  FoundCheckpoint find_checkpoint();
  std::int64_t find_pause() const;  ///< as trial.yaml asks, in steps
  /// Of rank 0, where there is no checkpoint of this run: what init_from asks for.
  void load_beginning(FoundCheckpoint& found);
  void share_learnt(const FoundCheckpoint& found);
  /// Whether each rank writes what it alone has; the same on every rank.
  bool slices_checkpoints();
  Checkpoint take_checkpoint(const float* weights, bool sliced, std::int64_t taken);
  /// samples_taken of all ranks. Collective.
  std::int64_t samples_of_all() const;
  CheckpointSlice take_slice();
  /// A checkpoint that is being written.
  struct Writing {
    std::int64_t step = 0;
    bool best = false;
    std::optional<std::int64_t> kept;  ///< the best one's step, at that time
    Stopwatch since;
    double waited_s = 0;               ///< that training waited
    std::shared_ptr<Checkpoint> main;  ///< rank 0's
    std::future<FileSeal> slice;       ///< this rank's, until all ranks have told
    std::future<std::int64_t> file;    ///< rank 0's main file: bytes of the set
  };
  void take_all(Writing& w);
  void write_behind(Writing& w);
  void gather_slices(Writing& w);
  void tell_written(Writing& w);
  std::vector<float> staging(std::size_t count);
  void keep_staging(Checkpoint& written);
  void start_fresh_or_resume(const FoundCheckpoint& found);
  void require_equal_replicas();
  void resume_mode(const FoundCheckpoint& found);
  void tell_start();
  jobspec::Map start_fields() const;

  /// Of the checkpoint before: copying into fresh memory takes three times as long, for its pages.
  std::vector<std::vector<float>> staging_;
  std::optional<Writing> writing_;  // last: its threads end before what they use goes
};

}  // namespace thalweg::engine
