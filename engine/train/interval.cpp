#include "engine/train/interval.h"

#include "engine/train/metrics.h"

namespace thalweg::engine {

void Interval::add_time(double data_ms, double wall_ms) {
  data_ms_ += data_ms;
  wall_ms_ += wall_ms;
}

void Interval::add(const StepOutcome& outcome, int global_batch) {
  samples_ += outcome.samples > 0 ? outcome.samples : global_batch;
  loss_sum_ += outcome.loss;
  ++steps_;
  ++timed_steps_;
  compute_ms_ += outcome.compute_ms;
  wait_ms_ += outcome.wait_ms;
  optimizer_ms_ += outcome.optimizer_ms;
  if (!outcome.comm_before) return;
  ++measured_steps_;
  comm_.comm_ms += outcome.comm_before->comm_ms;
  comm_.exposed_ms += outcome.comm_before->exposed_ms;
  comm_.skew_ms += outcome.comm_before->skew_ms;
}

std::vector<MetricPoint> Interval::report(std::int64_t step, double lr, double epochs,
                                          double flops_per_sample, bool ends) {
  const auto timed = static_cast<double>(timed_steps_);
  const auto measured = static_cast<double>(measured_steps_);
  const double samples_per_s = 1000 * static_cast<double>(samples_) / wall_ms_;
  std::vector<MetricPoint> points{
      {metric::train_loss, step, loss_sum_ / static_cast<double>(steps_)},
      {metric::lr, step, lr},
      {metric::epoch, step, epochs},
      {metric::samples_per_s, step, samples_per_s},
      {metric::tflops, step, samples_per_s * flops_per_sample * 1e-12},
      {metric::data_ms, step, data_ms_ / timed},
      {metric::compute_ms, step, compute_ms_ / timed},
      {metric::optimizer_ms, step, optimizer_ms_ / timed},
      // Where nothing is known yet of who waited for whom, all of the wait counts.
      {metric::comm_exposed_ms, step,
       measured > 0 ? comm_.exposed_ms / measured : wait_ms_ / timed},
  };
  if (measured > 0) {
    points.push_back({metric::comm_ms, step, comm_.comm_ms / measured});
    points.push_back({metric::skew_ms, step, comm_.skew_ms / measured});
    points.push_back({metric::overlap, step, comm_.overlap()});
  }
  *this = ends ? Interval() : Interval(loss_sum_, steps_);
  return points;
}

}  // namespace thalweg::engine
