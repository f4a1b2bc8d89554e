// A step as the device of the model makes it. A mode is written over this once, for all devices.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/sync/bucket_sum.h"
#include "engine/sync/mode.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// What a step has left behind; until the second step after it begins.
struct StepReport {
  const float* stats = nullptr;  ///< by StepStat, of all shards
  /// Sums of squares of the gradient before it is clipped, by parameter. Not finite: neither is the
  /// gradient, and it was not taken. Numbers of other steps than those that measure the noise of
  /// gradients may be 0.
  std::span<const double> squares;
};

/// For one thread. Between begin() and end() work is done in the order of the calls: on the host at
/// once, on a GPU later, in its stream. Throws CommError.
class StepDevice {
 public:
  virtual ~StepDevice() = default;

  /// Whether a step is still under way when end() returns: the next one may then begin before
  /// read() is asked.
  virtual bool later() const = 0;

  /// Takes a step's batch. Returns where read() finds what becomes of it.
  virtual std::size_t begin(const StepInput& input, const StepContext& context) = 0;
  /// Forward, backward and the sums over the ranks, then what `then` calls of the functions below:
  /// the same in every step. With draw_labels, after the run without: of the same batch.
  virtual void run(const StepInput& input, const std::function<void()>& then) = 0;
  virtual void end() = 0;
  /// Until the step is done. Of `outcome`: the times.
  virtual StepReport read(std::size_t place, StepOutcome& outcome) = 0;

  // Of the summed gradient, in this order.
  virtual void clip_values(double largest) = 0;
  virtual void clip_norm(double longest) = 0;
  virtual void update(const StepContext& context) = 0;
  /// Running statistics, and what read() will tell.
  virtual void report() = 0;
  /// In place of all of these.
  virtual void observe_curvature(const StepContext& context) = 0;

  /// The summed gradient, clipped, in the device's memory; until the next begin().
  virtual float* gradient() = 0;
  /// Somebody else than update() has written the parameters: copies of them no longer hold.
  virtual void parameters_written() {}
  virtual const float* evaluated() = 0;  ///< SyncMode::evaluated
  virtual std::string note() const { return {}; }
};

/// Of the model's device. `scale` and `sum` as GradientPath; `sum` must outlive it.
std::unique_ptr<StepDevice> make_step_device(const SyncParts& parts, const SyncOptions& options,
                                             float scale, BucketSum* sum);
std::unique_ptr<StepDevice> step_on_host(const SyncParts& parts, const SyncOptions& options,
                                         float scale, BucketSum* sum);
std::unique_ptr<StepDevice> step_on_gpu(const SyncParts& parts, const SyncOptions& options,
                                        float scale, BucketSum* sum);

/// What batches on their way and their augmentation take of a GPU's memory.
std::size_t gpu_batch_bytes(const BatchForm& batches, const Sharding& sharding);

/// What comes after the sums, for StepDevice::run(): clipping as `parts` says, update and report.
void finish_step(StepDevice& device, const SyncParts& parts, const StepContext& context);

/// Loss and wish to stop. `stop`: this rank's wish.
void tell_sums(const StepReport& report, const SyncParts& parts, bool stop, StepOutcome& outcome);

/// The first parameter, as backward completes them, that is not; empty: all are.
std::string first_not_finite(const Model& model, const std::function<bool(std::size_t)>& is_finite);

}  // namespace thalweg::engine
