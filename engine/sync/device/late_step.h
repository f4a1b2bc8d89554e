// A step whose gradients are summed over the ranks while the next one is computed, and applied
// later, as the device of the model makes it. A mode is written over this once, for all devices.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/sync/bucket_reducer.h"
#include "engine/sync/bucket_sum.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// `scale` and `sum` as GradientPath; `sum` must outlive the step.
struct LateOptions {
  float scale = 1;
  BucketSum* sum = nullptr;
  int sets = 2;              ///< memory for the gradients of so many steps
  bool accumulates = false;  ///< a rank may make several passes in a step
  /// How the thread waits that sums the gradients, once nothing is computed; until then the group
  /// is the caller's. Empty: sums may run meanwhile.
  BucketReducer::Wait wait{};
};

/// For one thread. The gradients of a step are in a set of memory; sets are taken one after
/// another, so of `sets` steps the oldest is applied before the next one is begun. Throws
/// CommError.
class LateStep {
 public:
  virtual ~LateStep() = default;

  /// What needs all ranks before the first step; run() calls it where nobody has. Collective.
  virtual void prepare() = 0;
  /// Forward and backward of this rank's shards. Their sums may be started at once where none are
  /// under way.
  virtual void run(const StepInput& input) = 0;
  /// Another pass of the step that run() has begun: its gradients are added. With accumulates.
  virtual void run_more(const StepInput& input) = 0;
  /// Until these passes have been made, and their sums too where those do not have to be waited for
  /// by LateOptions::wait.
  virtual void wait_for_passes() = 0;
  /// Whether the sums of the last run() have not been started: those before are to be collected.
  virtual bool held() const = 0;
  virtual void start_held() = 0;
  /// Whether sums have been started and not been collected.
  virtual bool summing() const = 0;
  /// Whether those are there: collecting them takes no time.
  virtual bool is_summed() = 0;

  struct Summed {
    std::size_t set = 0;    ///< where the gradient is
    StepReport report;      ///< until the next collect()
    bool measured = false;  ///< the report has the noise of gradients
  };
  /// Waits for the sums under way; running statistics take theirs in. Of `outcome`: step and times.
  virtual Summed collect(StepOutcome& outcome) = 0;
  /// Passes of each rank in the step that was collected last. With accumulates.
  virtual const std::vector<int>& passes() const = 0;

  /// The optimizer's step by the gradient in this set times `factor`, which is clipped as SyncParts
  /// says and spent; parameters whose gradient is not finite stay. Returns the milliseconds that it
  /// took here; what goes on is told by collect().
  virtual double apply(std::size_t set, const StepContext& context, float factor = 1) = 0;
  /// Until all that was asked for is done: before others look at the replica.
  virtual void finish() {}

  /// The gradient in this set, in the host's memory and the device's layout; may be overwritten.
  /// Until the next call.
  virtual float* on_host(std::size_t set) = 0;
  /// Takes such a gradient into a set; which one. After prepare().
  virtual std::size_t restore(const float* gradient) = 0;
  /// Somebody else than apply() has written the parameters: copies of them no longer hold.
  virtual void parameters_written() {}

  virtual const float* evaluated() = 0;  ///< SyncMode::evaluated
  virtual std::string note() const { return {}; }
};

/// Of the model's device.
std::unique_ptr<LateStep> make_late_step(const SyncParts& parts, const SyncOptions& options,
                                         const LateOptions& late);
std::unique_ptr<LateStep> late_step_on_host(const SyncParts& parts, const SyncOptions& options,
                                            const LateOptions& late);
std::unique_ptr<LateStep> late_step_on_gpu(const SyncParts& parts, const SyncOptions& options,
                                           const LateOptions& late);

/// Flat vectors of the model's size that it holds beside one gradient for each local shard.
std::int64_t late_vectors(const Sharding& sharding, int sets, bool accumulates, bool on_gpu);

/// Takes the oldest out, if there is one.
std::optional<StepOutcome> take_outcome(std::deque<StepOutcome>& told);

}  // namespace thalweg::engine
