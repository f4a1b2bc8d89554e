// How the shards of one step exchange numbers in the middle of a pass.
#pragma once

#include <cstddef>

namespace thalweg::engine {

/// All shards of all ranks take part in every sum, in the same order with the same lengths: each
/// must be under way in a thread of its own.
class Meeting {
 public:
  virtual ~Meeting() = default;
  /// How many shards there are, all of one size.
  virtual int shards() const = 0;
  /// `values` of shard `shard` (of this rank, from 0) become the sum over all shards, in an order
  /// that depends on nothing but their number. Blocks until all are there. Throws CommError, and
  /// where another shard has failed std::runtime_error.
  virtual void sum(int shard, float* values, std::size_t count) = 0;
};

}  // namespace thalweg::engine
