// Work that a failure loses grows with the interval, what checkpoints take shrinks with it; the sum
// is least at Young's interval, and flat around it: a rate of failures that is off by two costs
// little.
#include "engine/train/checkpoint_interval.h"

#include <algorithm>

#include "jobspec/advise/formulas.h"

namespace thalweg::engine {
namespace {

/// Where nobody says how often nodes fail: as the controller before it has seen any failure.
constexpr double kNodeFailureS = 1000 * 3600;
/// What the first checkpoint takes is not known before it; nor is how long the run's start is
/// worth.
constexpr double kFirstS = 60;
/// Steps between them can hardly be told from each other.
constexpr double kMinS = 1;

}  // namespace

CheckpointInterval::CheckpointInterval(double node_failure_s, int nodes)
    : between_failures_s_((node_failure_s > 0 ? node_failure_s : kNodeFailureS) /
                          std::max(nodes, 1)) {}

double CheckpointInterval::seconds() const {
  if (!measured()) return std::min(kFirstS, between_failures_s_);
  return std::max(kMinS, jobspec::advise::checkpoint_interval(checkpoint_s_, between_failures_s_));
}

}  // namespace thalweg::engine
