// Adasum: adds gradients where they are orthogonal, averages them where they are parallel.
// Maleki et al.: Scaling distributed training with adaptive summation, arXiv:2006.02924.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/comm/algorithms/collective.h"
#include "engine/comm/algorithms/link.h"

namespace thalweg::engine::comm {

/// Two vectors become (1 - a.b / 2|a|^2) a + (1 - a.b / 2|b|^2) b, tensor by tensor; W ranks a
/// binary tree of such pairs. Each step, with the rank 2^k above or below: the pair halves the
/// vector, exchanges halves, and sums the three products of every tensor over the 2^(k+1) ranks
/// that hold parts of the same two vectors; at the end the way back gathers the parts.
/// Link: phases 0 to 2.
Task adasum(const Link& link, const Layout& layout, Arguments a, std::vector<std::size_t> ends,
            bool over_machines);

/// Throws std::invalid_argument, in words, where ranks, type or tensors do not fit.
void check_adasum(const Layout& layout, const Arguments& a, const std::vector<std::size_t>& ends,
                  bool over_machines);

}  // namespace thalweg::engine::comm
