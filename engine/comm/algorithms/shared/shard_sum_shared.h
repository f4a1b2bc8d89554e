// Sum over logical shards of ranks that share memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/comm/algorithms/link.h"
#include "engine/comm/reduction/shard_tree.h"

namespace thalweg::engine::comm {

/// As shard_sum (algorithms/shard_sum.h), to the same bits, over the link's control block. Short
/// vectors are posted. Long ones stay in place where every rank's leaves lie in memory from
/// Group::allocate: each rank adds up its slice of all partial sums and writes it to all ranks.
/// Otherwise they travel as messages.
Task shard_sum_shared(const Link& link, std::shared_ptr<const ShardTree> tree,
                      std::vector<float*> mine, std::size_t count);

}  // namespace thalweg::engine::comm
