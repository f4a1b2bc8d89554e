// The validation samples, judged by all ranks together.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/group.h"
#include "engine/data/dataset.h"
#include "engine/sync/lane_pool.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

struct Judgement {
  double loss = 0;   ///< mean over the samples
  double error = 0;  ///< share of samples whose most likely class is wrong
};

/// The samples go in chunks of a shard's size. Ranks judge different chunks; the chunks' sums are
/// added in the order of the chunks, so the bits do not depend on the number of ranks or lanes.
/// Collective.
Judgement validate(const Dataset& dataset, const std::vector<std::uint32_t>& samples,
                   const float* parameters, const float* running, int chunk_samples,
                   LanePool& lanes, comm::Group& group);

}  // namespace thalweg::engine
