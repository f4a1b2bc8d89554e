// Who adds up which slice of a sum over shards, and what the ranks send each other for it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/comm/reduction/shard_tree.h"

namespace thalweg::engine::comm {

/// First every rank sends its partial sums of each slice to the rank that adds it up; after that
/// the slices go to all. Short vectors take one round: everybody sends everything to all, and all
/// add everything. Messages between two ranks go in the order of these lists. Empty ones are left
/// out.
struct ShardSumPlan {
  struct Message {
    int peer;
    float* data;
    std::size_t floats;
    std::size_t bytes() const { return floats * sizeof(float); }
  };

  /// `mine[i]`: this rank's i-th leaf, `count` floats each, where tree.local has been done; the sum
  /// ends in mine[0]. `scratch`: scratch_floats() of them. Every place is aligned as the leaves and
  /// `scratch` are, up to 64 bytes.
  ShardSumPlan(const ShardTree& tree, int rank, int ranks, std::span<float* const> mine,
               std::size_t count, float* scratch);
  /// What the first round receives into.
  static std::size_t scratch_floats(const ShardTree& tree, int rank, int ranks, std::size_t count);

  std::vector<Message> send, receive;                ///< first round: partial sums
  std::vector<float*> places;                        ///< of tree.across, own slice
  float* result = nullptr;                           ///< where the sum of the own slice goes
  std::size_t count = 0;                             ///< floats in the own slice
  std::vector<Message> send_slices, receive_slices;  ///< second round; none of short vectors
};

}  // namespace thalweg::engine::comm
