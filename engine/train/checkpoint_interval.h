// checkpoint.every_seconds: auto. How often checkpoints are worth their time.
#pragma once

namespace thalweg::engine {

/// Seconds of work between two checkpoints that lose the least: sqrt(2 C M) for checkpoints of C
/// seconds and one failure in M seconds (J. W. Young, CACM 17(9), 1974), and M where a checkpoint
/// takes more than half of that (J. T. Daly, Future Generation Computer Systems 22(3), 2006, eq.
/// 37).
double best_interval_s(double checkpoint_s, double between_failures_s);

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
