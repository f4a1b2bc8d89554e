#include "engine/sync/bucket_sum.h"

#include "engine/comm/shard_tree.h"

namespace thalweg::engine {

void add_up_shards(const GradientPart& part) {
  const comm::ShardTree tree(0, 1, static_cast<int>(part.leaves.size()));
  comm::run(tree.local, part.leaves.data(), part.count);
}

}  // namespace thalweg::engine
