// What happened since the last report, added up step by step.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/attempt/journal.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

/// The loss part is carried in checkpoints, so that a resumed run reports the same numbers.
class Interval {
 public:
  Interval() = default;
  Interval(double loss_sum, std::int64_t steps) : loss_sum_(loss_sum), steps_(steps) {}

  /// `global_batch`: the samples of a step that does not tell its own.
  void add(const StepOutcome& outcome, int global_batch);
  /// Of a turn of the main loop, `wall_ms`; `data_ms`: the part that waited for the batch.
  void add_time(double data_ms, double wall_ms);
  /// train/loss is the mean over the interval's steps of that of their samples, measured before the
  /// update. `epochs`: gone through. `flops_per_sample`: of a training step. `ends`: starts the
  /// next interval. Else the loss goes on being added up: a run that is extended reports what a
  /// longer one would have.
  std::vector<MetricPoint> report(std::int64_t step, double lr, double epochs,
                                  double flops_per_sample, bool ends);

  double loss_sum() const { return loss_sum_; }
  std::int64_t steps() const { return steps_; }

 private:
  double loss_sum_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t samples_ = 0;      ///< of the timed steps
  std::int64_t timed_steps_ = 0;  ///< of this process: fewer after a resume inside an interval
  double data_ms_ = 0, compute_ms_ = 0, wait_ms_ = 0, optimizer_ms_ = 0, wall_ms_ = 0;
  std::int64_t measured_steps_ = 0;  ///< of which the communication's times are known
  CommTimes comm_;                   ///< their sum
};

}  // namespace thalweg::engine
