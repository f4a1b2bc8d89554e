// What a sync mode remembers, on its way between the ranks and a checkpoint.
#pragma once

#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/sync_state.h"
#include "engine/train/checkpoint.h"

namespace thalweg::engine {

/// Collective. Rank 0 gets every rank's numbers, the others nothing.
std::vector<CheckpointPart> collect_states(const std::vector<SyncState>& states, const Model& model,
                                           comm::Group& group);

/// Collective. Rank 0 brings the parts, which must be those of `states` (see require_parts). Where
/// they are of another number of ranks, they are spread as SyncState::Ranks says.
void spread_states(const std::vector<CheckpointPart>& parts, const std::vector<SyncState>& states,
                   const Model& model, comm::Group& group);

/// Throws std::invalid_argument where the parts are not those of the states.
void require_parts(const std::vector<CheckpointPart>& parts, const std::vector<SyncState>& states,
                   const Model& model);

}  // namespace thalweg::engine
