#include "engine/comm/reduction/shard_tree.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {
namespace {

// 2048 floats: the two vectors of an addition fit into 16 KiB of first-level cache.
constexpr std::size_t kBlock = 2048;

int left_leaves(int leaves) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(leaves)) / 2);
}

/// The additions of a whole subtree, children before parents.
void whole(int first, int leaves, std::vector<ShardTree::Add>& adds) {
  if (leaves == 1) return;
  const int left = left_leaves(leaves);
  whole(first, left, adds);
  whole(first + left, leaves - left, adds);
  adds.push_back({first, first + left});
}

struct Builder {
  int rank, ranks, shards;
  ShardTree& tree;

  int owner(int leaf) const {
    int r = static_cast<int>((static_cast<long>(leaf) * ranks) / shards);
    while (ShardTree::first_shard(r + 1, ranks, shards) <= leaf) {
      ++r;
    }
    while (ShardTree::first_shard(r, ranks, shards) > leaf) {
      --r;
    }
    return r;
  }

  /// Returns the place of the subtree's sum.
  int build(int first, int leaves) {
    const int owned_by = owner(first);
    if (owned_by == owner(first + leaves - 1)) {
      if (owned_by == rank)
        whole(first - ShardTree::first_shard(rank, ranks, shards), leaves, tree.local);
      tree.partials.push_back({owned_by, first});
      return static_cast<int>(tree.partials.size()) - 1;
    }
    const int left = left_leaves(leaves);
    const int into = build(first, left);
    const int from = build(first + left, leaves - left);
    tree.across.push_back({into, from});
    return into;
  }
};

}  // namespace

int ShardTree::first_shard(int rank, int ranks, int shards) {
  return static_cast<int>(static_cast<std::int64_t>(rank) * shards / ranks);
}

ShardTree::ShardTree(int rank, int ranks, int shard_count) : shards(shard_count) {
  if (ranks < 1 || shards < ranks) {
    throw std::invalid_argument("a sum over " + std::to_string(shards) + " shards on " +
                                std::to_string(ranks) + " ranks: there must be a shard per rank");
  }
  first_leaf = ShardTree::first_shard(rank, ranks, shards);
  Builder{rank, ranks, shards, *this}.build(0, shards);
}

void run(std::span<const ShardTree::Add> adds, float* const* places, std::size_t count) {
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t block = std::min(kBlock, count - at);
    for (const auto& step : adds) {
      add(places[step.into] + at, places[step.from] + at, block);
    }
  }
}

}  // namespace thalweg::engine::comm
