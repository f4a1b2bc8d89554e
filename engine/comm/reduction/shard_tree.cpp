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
  int rank;
  const std::vector<int>& firsts;  ///< by rank, then the number of leaves
  ShardTree& tree;

  /// The last rank that begins at or before the leaf: those before it that begin there own nothing.
  int owner(int leaf) const {
    const auto after = std::upper_bound(firsts.begin(), firsts.end(), leaf);
    return static_cast<int>(after - firsts.begin()) - 1;
  }

  /// Returns the place of the subtree's sum.
  int build(int first, int leaves) {
    const int owned_by = owner(first);
    if (owned_by == owner(first + leaves - 1)) {
      if (owned_by == rank) whole(first - tree.first_leaf, leaves, tree.local);
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

std::vector<int> equal_firsts(int ranks, int shards) {
  if (ranks < 1 || shards < ranks)
    throw std::invalid_argument("a sum over " + std::to_string(shards) + " shards on " +
                                std::to_string(ranks) + " ranks: there must be a shard per rank");
  std::vector<int> firsts;
  for (int rank = 0; rank <= ranks; ++rank)
    firsts.push_back(ShardTree::first_shard(rank, ranks, shards));
  return firsts;
}

}  // namespace

int ShardTree::first_shard(int rank, int ranks, int shards) {
  return static_cast<int>(static_cast<std::int64_t>(rank) * shards / ranks);
}

ShardTree::ShardTree(int rank, int ranks, int shard_count)
    : ShardTree(rank, equal_firsts(ranks, shard_count)) {}

ShardTree::ShardTree(int rank, std::vector<int> first) : shards(first.empty() ? 0 : first.back()) {
  if (shards < 1 || first[0] != 0 || !std::is_sorted(first.begin(), first.end()))
    throw std::invalid_argument(
        "a table of first shards begins with 0, never falls, and ends above");
  first_leaf = first.at(static_cast<std::size_t>(rank));
  owned = first.at(static_cast<std::size_t>(rank) + 1) - first_leaf;
  Builder{rank, first, *this}.build(0, shards);
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
