// Slices that some ranks own: everybody sends them theirs, and gets the results back, in one step
// each.
#pragma once

#include "engine/comm/algorithms/collective.h"

namespace thalweg::engine::comm {

/// Ranks 0 to owners - 1 own the segments of the vector (see segments()); rank r ends with segment
/// r, combined in the order of the ranks.
Task reduce_to_owners(Link link, int owners, Arguments a);
/// The owners' segments end on every rank.
Task spread_from_owners(Link link, int owners, Arguments a);

}  // namespace thalweg::engine::comm
