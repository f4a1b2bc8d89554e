// What a run will take of a device's memory, before it takes it, and what to change where that is
// more than there is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace thalweg::engine {

/// Of one rank, in bytes.
struct MemoryNeeds {
  std::size_t parameters = 0;
  std::size_t gradients = 0;    ///< of this rank's shards, and sums of micro-batches
  std::size_t optimizer = 0;    ///< its states, and the weights that it validates
  std::size_t weights = 0;      ///< copies of parameters in another type or layout
  std::size_t activations = 0;  ///< values between layers and their gradients
  std::size_t workspace = 0;    ///< of library calls
  std::size_t staging = 0;      ///< batches on their way

  std::size_t total() const;
  /// "12.0 MiB: parameters 3.0, gradients 3.0, ...", kinds that take nothing left out.
  std::string line() const;
  /// A kind on each line, then the sum.
  std::string table() const;
};

/// "12.3 MiB"
std::string in_mebibytes(std::size_t bytes);

/// How a shard is computed.
struct ShardSize {
  int samples = 1;        ///< of a micro-batch
  int micro_batches = 1;  ///< sync.accumulate
  bool recompute = false;
};
/// What another size would take. May be asked a few dozen times.
using MemoryPlanner = std::function<MemoryNeeds(const ShardSize&)>;

/// Nothing where `wanted` takes at most `free` bytes of `machine`. Else a refusal: the table, and
/// what fits of computing again, of more micro-batches and of smaller batches of `shards` shards;
/// the fewest changes, the largest batch.
std::string refuse_memory(const ShardSize& wanted, int shards, std::size_t free,
                          const std::string& machine, const MemoryPlanner& plan);

}  // namespace thalweg::engine
