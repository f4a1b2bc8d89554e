// Learning-rate schedules: a pure function of the update's 0-based number. Warm-up composes with
// any decay.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// Lengths that schedules refer to; all in optimizer steps.
struct RunLength {
  std::int64_t total_steps = 0;
  std::int64_t steps_per_epoch = 0;
};

/// Immutable and thread-safe.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Multiplier of the base learning rate for update `step` (0-based).
  virtual double multiplier(std::int64_t step) const = 0;
};

/// `options` is the trial's `train.schedule` tree: {decay: cosine, final: 0.0, warmup_steps: 100,
/// ...}. Throws std::invalid_argument with a plain sentence.
std::unique_ptr<Schedule> make_schedule(const jobspec::Value& options, const RunLength& length);

std::vector<jobspec::Section> schedule_schema();

}  // namespace thalweg::engine
