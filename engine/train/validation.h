// The validation samples, judged by all ranks together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/data/dataset.h"
#include "engine/schedule/schedule.h"
#include "engine/sync/gpu_evaluation.h"
#include "engine/sync/lane_pool.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

struct Judgement {
  struct Metric {
    std::string name;  ///< "error"
    double value;
  };
  double loss = 0;              ///< mean over the samples
  std::vector<Metric> metrics;  ///< those of the loss (LossKind::metrics), in its order
};

/// Throws std::invalid_argument where validation does not report the metric that the schedule
/// watches.
void require_watched(const Schedule& schedule, const LossPlan& loss);

/// The samples go in chunks of a shard's size. Ranks judge different chunks; the chunks' sums are
/// added in the order of the chunks, so the bits do not depend on the number of ranks or lanes.
/// `on_gpu`: of chunks of that size, for lanes of a GPU; null: each chunk goes through its lane
/// alone. Collective.
Judgement validate(const Dataset& dataset, const std::vector<std::uint32_t>& samples,
                   const LossPlan& loss, const float* parameters, const float* running,
                   int chunk_samples, LanePool& lanes, comm::Group& group,
                   GpuEvaluation* on_gpu = nullptr);

/// Batch norm's statistics for weights at which training has not measured them: means over some
/// training samples, spread evenly. The bits do not depend on the number of ranks or lanes.
/// Collective.
std::vector<float> statistics_at(const Dataset& dataset, const std::vector<std::uint32_t>& training,
                                 const Model& model, const float* parameters, int chunk_samples,
                                 LanePool& lanes, comm::Group& group);

}  // namespace thalweg::engine
