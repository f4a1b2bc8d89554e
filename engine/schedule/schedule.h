// Learning-rate schedules: batch scaling x warm-up x decay. All but `plateau` are pure functions of
// the update's 0-based number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::engine {

/// Lengths that schedules refer to.
struct RunLength {
  std::int64_t total_steps = 0;  ///< optimizer steps
  std::int64_t steps_per_epoch = 0;
  std::int64_t global_batch = 1;  ///< samples of a step
};

/// What an update uses.
struct ScheduleValue {
  double lr = 1;                   ///< multiplier of the base learning rate
  std::optional<double> momentum;  ///< set: instead of the optimizer's own (momentum, beta1)
};

/// Thread-safe but for observe() and restore().
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// For update `step` (0-based).
  virtual ScheduleValue at(std::int64_t step) const = 0;
  /// A validation metric after `step` updates; every rank must tell the same numbers.
  virtual void observe(std::int64_t /*step*/, const std::string& /*metric*/, double /*value*/) {}
  /// The metric that observe() waits for ("val/loss"); empty = none.
  virtual std::string watched() const { return {}; }
  /// What observe() has changed: finite numbers, always equally many, for a checkpoint.
  virtual std::vector<double> state() const { return {}; }
  /// Throws std::invalid_argument where the numbers are not as many as state() gives.
  virtual void restore(std::span<const double> state);
};

/// `options` is the trial's `train.schedule` tree: {decay: cosine, final: 0.0, warmup: linear,
/// warmup_steps: 100, scaling: linear, scaling_batch: 128, ...}. Throws std::invalid_argument with
/// key and remedy.
std::unique_ptr<Schedule> make_schedule(const jobspec::Value& options, const RunLength& length);

/// One line for people: the parts by name and the rate at first, after the warm-up and at last.
/// Throws as make_schedule.
std::string describe_schedule(const jobspec::Value& options, const RunLength& length,
                              double base_lr);

std::vector<jobspec::Section> schedule_schema();

}  // namespace thalweg::engine
