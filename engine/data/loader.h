// Prepares training batches ahead of the step that needs them, in threads of its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/data/augment.h"
#include "engine/data/batch_form.h"
#include "engine/data/dataset.h"
#include "engine/data/mixing.h"
#include "engine/data/pixel_answers.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine {

/// Step s trains on positions [k * global_batch, (k + 1) * global_batch) of epoch e's order, where
/// e = s / steps_per_epoch and k = s % steps_per_epoch: one global shuffle an epoch, and what is
/// left over at the end of an epoch (less than a batch) is dropped. Where batches of this size
/// begin at another step, epoch and place, the same counts from there. A rank prepares only its own
/// part of each batch.
struct LoaderPlan {
  std::uint64_t seed = 1;  ///< of the trial; keys the shuffle together with the epoch
  std::size_t global_batch = 0;
  std::size_t first_position = 0;  ///< this rank's part of every global batch
  std::size_t positions = 0;
  /// Steps, epochs and places of the epoch's order before the first batch of this size.
  std::int64_t origin_step = 0, origin_epoch = 0, origin_place = 0;
  std::int64_t first_step = 0;  ///< steps [first_step, end_step) are prepared
  std::int64_t end_step = 0;
  /// Above 0: nobody knows which samples the rank takes next before Loader::want() says it, by the
  /// shard of a step's batch, which has so many. The two steps and first_position do not count.
  int shards = 0;
  bool shuffle_once = false;             ///< every epoch has the first one's order
  const Augmenter* augmenter = nullptr;  ///< must outlive the loader; nullptr = samples as they are
  const Mixer* mixer = nullptr;          ///< the same; nullptr = each sample by itself
  int ahead = 3;                         ///< batches to prefetch at most
  int workers = 1;  ///< threads, each with a batch of its own; 0: next() prepares it itself
  int kept = 1;     ///< calls of next() for which a batch stays as it is: 1 = until the next one
  /// How batches stand in memory; without micro-batches: host_batches().
  BatchForm form;
  /// Where they stand: memory of at least that many bytes, which outlives the loader. Empty: the
  /// loader's own.
  std::function<std::byte*(std::size_t bytes)> memory;
};

struct PreparedBatch {
  std::int64_t step = -1;
  std::byte* memory = nullptr;  ///< as the plan's form says
  // The same where the form is that of host_batches():
  std::span<const float> inputs;         ///< positions x sample
  std::span<const std::int32_t> labels;  ///< positions x form().labels
  std::span<const float> targets;        ///< positions x form().targets
  // Only with a mixer:
  std::span<const std::int32_t> labels_b;  ///< as labels
  std::span<const float> shares_b;         ///< positions: what labels_b weigh, 0 to 1
};

/// The batches do not depend on the number of workers. next() is for one thread.
class Loader {
 public:
  /// `dataset` must outlive the loader; `training` lists the samples to use.
  Loader(const Dataset& dataset, std::vector<std::uint32_t> training, const LoaderPlan& plan);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  /// The next step's batch; waits until it is there. It stays valid for the plan's `kept` calls.
  /// Throws what the thread that prepares it threw, and std::logic_error after the last step.
  const PreparedBatch& next();

  /// With LoaderPlan::shards: the batch after those that were wanted before is `shards`, in this
  /// order: number s * LoaderPlan::shards + i is shard i of step s. As many as make a batch.
  void want(std::vector<std::int64_t> shards);

  /// The samples of a step's global batch, with those that are blended in, ascending. With
  /// LoaderPlan::shards: of the batches that were handed out last.
  std::vector<std::uint32_t> samples_of(std::int64_t step) const;

 private:
  /// What a worker has for itself.
  struct Workspace {
    // Of two epochs: on demand batches of both come in turn.
    std::int64_t epochs[2] = {-1, -1};  ///< whose orders it has
    std::vector<std::uint32_t> orders[2];
    std::vector<float> original;  ///< a sample before its augmentation
    std::vector<float> inputs_b;  ///< what is blended in
    std::vector<float> targets_b;
    std::vector<std::int32_t> labels_b;
    AnswerWorkspace answers;
  };

  using Shards = std::vector<std::int64_t>;
  Workspace workspace() const;
  void prepare();
  PreparedBatch& prepare_now(std::int64_t step);
  bool take_step(std::int64_t& step, Shards& shards);
  void fill(PreparedBatch& batch, std::int64_t step, const Shards& shards,
            Workspace& workspace) const;
  std::vector<std::uint32_t> order_in(std::int64_t epoch) const;
  const std::vector<std::uint32_t>& order_of(std::int64_t epoch, Workspace& workspace) const;
  void place_slots();
  void copy_inputs(std::uint64_t place, std::int64_t epoch, Workspace& workspace, float* out) const;
  void copy_answers(std::uint64_t place, std::int64_t epoch, Workspace& workspace,
                    std::int32_t* labels, float* targets) const;
  void copy_raw(std::uint64_t place, std::int64_t epoch, std::byte* inputs,
                std::byte* change) const;
  void blend(std::byte* memory, std::size_t i, std::uint64_t place, std::int64_t epoch,
             Workspace& workspace) const;
  struct Position {
    std::int64_t epoch = 0;
    std::size_t first = 0;  ///< of its order
  };
  Position position_of(std::int64_t step) const;     ///< of the global batch
  Position position_of_shard(std::int64_t n) const;  ///< as want() names it
  std::size_t shard_samples() const {
    return plan_.global_batch / static_cast<std::size_t>(plan_.shards);
  }
  void add_samples(const Position& at, std::size_t count, std::vector<std::uint32_t>& to) const;
  PreparedBatch& slot(std::int64_t step) {
    return slots_[static_cast<std::size_t>(step) % slots_.size()];
  }
  void stop();

  const Dataset& dataset_;
  const std::vector<std::uint32_t> training_;
  LoaderPlan plan_;
  std::size_t sample_floats_;
  std::int64_t steps_per_epoch_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Buffer> own_memory_;
  /// Step s lives in slot s % slots; its step says when it is there.
  std::vector<PreparedBatch> slots_;
  std::int64_t begun_;  ///< steps below are prepared or under way
  std::int64_t taken_;  ///< steps below were handed out
  bool stop_ = false;
  std::map<std::int64_t, Shards> wanted_;  ///< by step, those handed out last among them
  std::map<std::int64_t, std::exception_ptr> errors_;  ///< by step
  std::vector<std::thread> workers_;
  Workspace own_;  ///< without workers
};

}  // namespace thalweg::engine
