// Prepares training batches ahead of the step that needs them, in threads of its own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/data/mixing.h"

namespace thalweg::engine {

/// Step s trains on positions [k * global_batch, (k + 1) * global_batch) of epoch e's order, where
/// e = s / steps_per_epoch and k = s % steps_per_epoch: one global shuffle an epoch, and what is
/// left over at the end of an epoch (less than a batch) is dropped. A rank prepares only its own
/// part of each batch.
struct LoaderPlan {
  std::uint64_t seed = 1;  ///< of the trial; keys the shuffle together with the epoch
  std::size_t global_batch = 0;
  std::size_t first_position = 0;  ///< this rank's part of every global batch
  std::size_t positions = 0;
  std::int64_t first_step = 0;  ///< steps [first_step, end_step) are prepared
  std::int64_t end_step = 0;
  bool shuffle_once = false;             ///< every epoch has the first one's order
  const Augmenter* augmenter = nullptr;  ///< must outlive the loader; nullptr = samples as they are
  const Mixer* mixer = nullptr;          ///< the same; nullptr = each sample by itself
  int ahead = 3;                         ///< batches prepared ahead at most
  int workers = 1;                       ///< threads, each with a batch of its own
};

struct PreparedBatch {
  std::int64_t step = -1;
  std::vector<float> inputs;         ///< positions x sample
  std::vector<std::int32_t> labels;  ///< positions x form().labels
  std::vector<float> targets;        ///< positions x form().targets
  // Only with a mixer:
  std::vector<std::int32_t> partner_labels;  ///< as labels
  std::vector<float> partner_shares;         ///< positions: what partner_labels weigh, 0 to 1
};

/// The batches do not depend on the number of workers. next() is for one thread.
class Loader {
 public:
  /// `dataset` must outlive the loader; `training` lists the samples to use.
  Loader(const Dataset& dataset, std::vector<std::uint32_t> training, const LoaderPlan& plan);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  /// The next step's batch; waits until it is there. It stays valid until the next call. Throws
  /// what the thread that prepares it threw, and std::logic_error after the last step.
  const PreparedBatch& next();

 private:
  /// What a worker has for itself.
  struct Desk {
    std::int64_t epoch = -1;  ///< whose order it has
    std::vector<std::uint32_t> order;
    std::vector<float> original;  ///< a sample before its augmentation
    std::vector<float> partner;   ///< what is blended in
    std::vector<float> partner_targets;
  };

  void prepare();
  bool take_step(std::int64_t& step);
  void fill(PreparedBatch& batch, std::int64_t step, Desk& desk) const;
  void order_of(std::int64_t epoch, Desk& desk) const;
  void copy_inputs(std::uint64_t place, std::int64_t epoch, Desk& desk, float* out) const;
  void blend(PreparedBatch& batch, std::size_t i, std::uint64_t place, std::int64_t epoch,
             Desk& desk) const;
  PreparedBatch& slot(std::int64_t step) {
    return slots_[static_cast<std::size_t>(step) % slots_.size()];
  }
  void stop();

  const Dataset& dataset_;
  const std::vector<std::uint32_t> training_;
  const LoaderPlan plan_;
  std::size_t sample_floats_;
  std::int64_t steps_per_epoch_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PreparedBatch>
      slots_;           ///< step s lives in slot s % slots; its step says when it is there
  std::int64_t begun_;  ///< steps below are prepared or under way
  std::int64_t taken_;  ///< steps below were handed out
  bool stop_ = false;
  std::map<std::int64_t, std::exception_ptr> errors_;  ///< by step
  std::vector<std::thread> workers_;
};

}  // namespace thalweg::engine
