// How long a run would take on other numbers of nodes, also on nodes that can be taken away: after
// CM-DARE (arXiv:2004.03072), in which the speed of a cluster is the sum of its workers' until
// something else is the bottleneck.
#pragma once

#include <optional>
#include <vector>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/scaling_law.h"

namespace thalweg::jobspec::advise {

/// Samples per second by number of nodes.
class ClusterSpeed {
 public:
  /// `runs`: at least one, Speed::ranks being nodes, all above 0; of several with the same number
  /// the median counts.
  explicit ClusterSpeed(const std::vector<Speed>& runs);

  /// As it was measured; between two numbers of nodes a straight line; below the first its share;
  /// beyond the last as a fitted law that levels off goes on from there (scaling_law.h), where the
  /// runs allow a fit, but no more than the sum at the last one's speed a node; else that sum.
  double at(double nodes) const;
  bool is_measured(double nodes) const;
  /// By ascending numbers of nodes.
  const std::vector<Speed>& measured() const { return measured_; }
  bool has_law() const { return law_.has_value(); }
  /// The first measured number of nodes at which another one gains less than half of what it costs,
  /// as the fit has it; infinite where there is none.
  double bottleneck() const;
  /// How far predictions miss, as a mean share of what was measured: each number of nodes by those
  /// below it. NaN where only one was measured.
  double mape() const;

 private:
  std::vector<Speed> runs_, measured_;
  std::optional<ScalingLaw> law_;
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
