// When a run has trained long enough: its target is reached, or validation no longer improves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/schema.h"
#include "jobspec/trial.h"

namespace thalweg::engine {

/// The section `stop` of `train`.
jobspec::Section stop_section();

/// Looks at the metric of the trial each time that validation reports it. The same on every rank,
/// as the numbers are. Not thread-safe.
class StopRule {
 public:
  StopRule() = default;  ///< never
  /// `tree`: a complete `stop`. Throws std::invalid_argument where it needs a target and there is
  /// none.
  StopRule(const jobspec::Value& tree, const jobspec::Metric& metric);

  bool idle() const { return !at_target_ && patience_ == 0; }
  /// What it looks at; empty where it is idle.
  std::string watched() const { return idle() ? "" : metric_.name; }
  void observe(std::int64_t step, const std::string& name, double value);
  /// "val/error 0.08 reached the target 0.1 at step 300"; empty while there is none.
  const std::string& reason() const { return reason_; }

  /// What a checkpoint keeps; empty where nothing was seen.
  std::vector<double> state() const;
  /// Empty: nothing was seen. Throws std::invalid_argument.
  void restore(const std::vector<double>& state);

 private:
  bool better(double value, double than) const;
  bool reached() const;
  void decide();

  jobspec::Metric metric_;
  bool at_target_ = false;
  std::optional<double> target_;
  std::int64_t patience_ = 0;
  double min_delta_ = 0;
  // What was seen.
  bool any_ = false;
  double best_ = 0, newest_ = 0;
  std::int64_t step_ = 0, since_ = 0;  ///< of the newest; validations since the best one
  std::string reason_;
};

}  // namespace thalweg::engine
