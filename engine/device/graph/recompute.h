// Which layers' outputs are kept for backward, where the others are computed again (Chen et al.,
// arXiv:1604.06174).
#pragma once

#include <vector>

#include "engine/device/graph/node.h"

namespace thalweg::engine {

/// The number of each node's segment, from 0, each a run of neighbours; -1: the last segment, which
/// is kept. Backward computes a segment again from the values that cross into it, which are kept;
/// chosen so that they and the largest segment take the least memory together, outputs of layers
/// counted. All -1 where nothing would be saved.
std::vector<int> segments_of(const Graph& graph, const std::vector<Node>& nodes);

/// Whether a node takes the value of `maker` in another segment than that.
bool crosses(const std::vector<Node>& nodes, const std::vector<int>& segments, std::size_t maker);

}  // namespace thalweg::engine
