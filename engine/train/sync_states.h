// What a sync mode remembers, on its way between the ranks and a checkpoint.
#pragma once

#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/sync_state.h"
#include "engine/train/checkpoint.h"

namespace thalweg::engine {

/// Whether each rank has numbers of its own among them.
bool differ_by_rank(const std::vector<SyncState>& states);

/// The parts of a checkpoint, of which `sliced` says whether they hold what ranks have of their own
/// (CheckpointPart::sliced stands for it) or there is one rank.
std::vector<CheckpointPart> common_parts(const std::vector<SyncState>& states, const Model& model,
                                         bool sliced);

/// Those that are this rank's own, for its slice: in the order of the sliced ones.
std::vector<CheckpointPart> own_parts(const std::vector<SyncState>& states, const Model& model);

/// Collective. Rank 0 brings the parts, which must be those of `states` (see require_parts). Where
/// they are of another number of ranks, they are spread as SyncState::Ranks says.
void spread_states(const std::vector<CheckpointPart>& parts, const std::vector<SyncState>& states,
                   const Model& model, comm::Group& group);

/// Throws std::invalid_argument where the parts are not those of the states.
void require_parts(const std::vector<CheckpointPart>& parts, const std::vector<SyncState>& states,
                   const Model& model);

}  // namespace thalweg::engine
