// The fixed binary tree over logical shards, and which part of it each rank can add up alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thalweg::engine::comm {

/// tree(n) = tree(p) + tree(n - p), p = the largest power of two below n. The tree depends on the
/// number of leaves only, never on the ranks, so its sum has the same bits for any rank count.
struct ShardTree {
  /// places[into] += places[from]
  struct Add {
    int into;
    int from;
  };
  /// A largest subtree whose leaves one rank owns. Its sum stands where its first leaf stood.
  struct Partial {
    int rank;
    int leaf;  ///< its first leaf, counted over all ranks
  };

  int shards;                     ///< leaves in all
  int first_leaf = 0;             ///< of this rank
  int owned = 0;                  ///< leaves of this rank
  std::vector<Add> local;         ///< what this rank can add alone; places: its own leaves, from 0
  std::vector<Partial> partials;  ///< of all ranks, in leaf order
  std::vector<Add> across;        ///< the rest of the tree; places: partials. Ends in place 0

  /// Rank r owns the leaves [first_shard(r), first_shard(r + 1)). Throws std::invalid_argument
  /// unless 1 <= ranks <= shards.
  ShardTree(int rank, int ranks, int shard_count);
  /// Rank r owns the leaves [first[r], first[r + 1]), perhaps none. Throws std::invalid_argument
  /// unless the table begins with 0, never falls, and has a leaf.
  ShardTree(int rank, std::vector<int> first);
  static int first_shard(int rank, int ranks, int shards);
};

/// Runs the additions over `count` elements of every place, block by block, so that sums in between
/// stay in the cache.
void run(std::span<const ShardTree::Add> adds, float* const* places, std::size_t count);

}  // namespace thalweg::engine::comm
