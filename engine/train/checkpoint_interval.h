// checkpoint.every_seconds: auto. How often checkpoints are worth their time: the interval of
// jobspec/advise/formulas.h, by what this attempt's checkpoints take.
#pragma once

namespace thalweg::engine {

/// Rank 0's: the interval of this attempt, by what its checkpoints take and how often nodes fail.
class CheckpointInterval {
 public:
  /// `node_failure_s`: seconds between failures of one node; 0 = not known. `nodes` of this
  /// attempt: any of them ends it.
  CheckpointInterval(double node_failure_s, int nodes);

  /// A checkpoint has taken so long.
  void took(double seconds) { checkpoint_s_ = seconds; }
  /// Until the first has, an early one, which tells.
  double seconds() const;
  bool measured() const { return checkpoint_s_ > 0; }
  double between_failures_s() const { return between_failures_s_; }

 private:
  double between_failures_s_;
  double checkpoint_s_ = 0;
};

}  // namespace thalweg::engine
