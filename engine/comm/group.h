// All ranks of an attempt, or some of them: the collectives that training needs.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/transport.h"
#include "engine/comm/types.h"

namespace thalweg::engine::comm {

struct GroupOptions {
  std::chrono::milliseconds stall_timeout{
      60000};                      ///< no progress for this long inside a wait: CommError
  std::string allreduce = "auto";  ///< or an algorithm's name from its table
};

/// Names that GroupOptions::allreduce takes: "auto" and the rows of the algorithm table.
std::vector<std::string> allreduce_names();

/// Collectives block unless they return a Request. All ranks must call the same operations in the
/// same order with the same lengths. Lengths count elements; 0 is allowed. Same input and group
/// shape: same bits. Not thread-safe; `start_*` lets several operations be in flight, progressed by
/// test()/wait() of any of them.
class Group {
 public:
  /// Throws std::invalid_argument where `options` names no algorithm.
  explicit Group(std::unique_ptr<Transport> transport, GroupOptions options = {});
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  int rank() const;
  int size() const;
  const std::string& node_of(int rank) const;

  /// As GroupOptions::allreduce, from the next call on; the same on all ranks.
  void use_allreduce(const std::string& name);
  void allreduce(void* data, std::size_t count, Type type, Op op);
  void broadcast(void* data, std::size_t bytes, int root);
  void allgather(const void* mine, void* all, std::size_t bytes_each);
  void barrier();

  /// Sum over logical shards in a fixed binary tree, so that the bits do not depend on the number
  /// of ranks. There are `shards` leaves in all; rank r owns leaves [first_shard(r),
  /// first_shard(r+1)), contiguous, any rank count 1..shards. `mine[i]` is the vector of this
  /// rank's i-th leaf, `count` floats each (overwritten); the sum ends in mine[0] on every rank.
  /// The tree over n leaves splits at the largest power of two below n: tree(n) = tree(p) + tree(n
  /// - p). A Request outlives neither its Group nor the vectors.
  std::unique_ptr<Request> start_shard_sum(std::span<float* const> mine, std::size_t count,
                                           int shards);
  static int first_shard(int rank, int ranks, int shards);  ///< rank * shards / ranks

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg::engine::comm
