// Sum over logical shards, in a tree that does not depend on the ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/comm/algorithms/link.h"
#include "engine/comm/algorithms/sum_elsewhere.h"
#include "engine/comm/reduction/shard_tree.h"

namespace thalweg::engine::comm {

/// Every rank adds up the subtrees it owns; then each rank gets everybody's partial sums of its
/// slice of the vector, adds them in tree order, and sends the slice to all (shard_sum_plan.h). See
/// Group::start_shard_sum. Uses phases 0 and 1 of the link.
Task shard_sum(const Link& link, std::shared_ptr<const ShardTree> tree, std::vector<float*> mine,
               std::size_t count);

/// See Group::start_shard_sum_elsewhere.
Task shard_sum_elsewhere(const Link& link, std::shared_ptr<const ShardTree> tree,
                         std::vector<float*> mine, std::size_t count, SumElsewhere& where);

}  // namespace thalweg::engine::comm
