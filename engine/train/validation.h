// The validation samples, evaluated by all ranks together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/schedule/schedule.h"
#include "engine/sync/device/evaluation.h"
#include "engine/train/best.h"
#include "engine/train/stop_rule.h"

namespace thalweg::engine {

struct EvalResult {
  struct Metric {
    std::string name;  ///< "error"
    double value;
  };
  double loss = 0;              ///< mean over the samples
  std::vector<Metric> metrics;  ///< those of the loss (LossKind::metrics), in its order
};

/// Throws std::invalid_argument where validation does not report the metric that the schedule,
/// the stop rule or the choice of the best checkpoint watches.
void require_watched(const Schedule& schedule, const StopRule& stop, const Best& best,
                     const LossPlan& loss);

/// Ranks evaluate different chunks of the evaluation's size; the chunks' sums are added in the
/// order of the chunks, so the bits do not depend on the number of ranks or executors. Collective.
EvalResult validate(Evaluation& evaluation, const std::vector<std::uint32_t>& samples,
                    const LossPlan& loss, const float* parameters, const float* running,
                    comm::Group& group);

/// Batch norm's statistics (`count` of them) for weights at which training has not measured them:
/// means over some training samples, spread evenly. The bits do not depend on the number of ranks
/// or executors. Collective.
std::vector<float> statistics_at(Evaluation& evaluation, const std::vector<std::uint32_t>& training,
                                 std::size_t count, const float* parameters, comm::Group& group);

}  // namespace thalweg::engine
