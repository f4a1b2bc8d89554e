// The collectives of ranks that share memory: the rows "shared" of the table. The link must have a
// control block.
#pragma once

#include "engine/comm/algorithms/collective.h"

namespace thalweg::engine::comm {

Algorithm allreduce_shared, reduce_scatter_shared, allgather_shared, broadcast_shared,
    all_to_all_shared, barrier_shared;

}  // namespace thalweg::engine::comm
