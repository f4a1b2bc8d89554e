// How long a run would take on other numbers of nodes, also on nodes that can be taken away: after
// CM-DARE (arXiv:2004.03072), in which the speed of a cluster is the sum of its workers' until
// something else is the bottleneck.
#pragma once

#include <vector>

#include "jobspec/advise/formulas.h"

namespace thalweg::jobspec::advise {

/// Samples per second by number of nodes.
class ClusterSpeed {
 public:
  /// `measured`: at least one, by ascending numbers of nodes (Speed::ranks), all above 0.
  explicit ClusterSpeed(std::vector<Speed> measured);

  /// As it was measured; between two numbers of nodes a straight line; below the first its share;
  /// beyond the last the sum at the last one's speed a node, and where there is a bottleneck no
  /// more than was measured.
  double at(double nodes) const;
  bool is_measured(double nodes) const;
  /// The first number of nodes that gained less than half of what it cost (worth_up_to());
  /// infinite where none did.
  double bottleneck() const { return bottleneck_; }
  /// How far predictions miss, as a mean share of what was measured: each number of nodes by those
  /// below it. NaN where only one was measured.
  double mape() const;

 private:
  std::vector<Speed> measured_;
  double bottleneck_;
};

/// Of a run that can be interrupted; all in seconds.
struct Interrupted {
  double work_s = 0;        ///< without any interruption or checkpoint
  double checkpoint_s = 0;  ///< to write one; 0: it writes none and begins again from its start
  double restart_s = 0;     ///< from an interruption until work goes on from the last checkpoint
  double failures_s = 0;    ///< mean time between two interruptions of the job; infinite: none
};
/// Seconds that it is expected to take where interruptions come at random (exponentially
/// distributed), also during restarts, with checkpoints every checkpoint_interval() seconds of
/// work: M e^(R/M) (e^((t + C)/M) - 1) W/t. (J. T. Daly, Future Generation Computer Systems 22(3),
/// 2006, the complete model.) Without checkpoints, and where the run is so short that none is worth
/// its time: M e^(R/M) (e^(W/M) - 1).
double expected_seconds(const Interrupted& run);

}  // namespace thalweg::jobspec::advise
