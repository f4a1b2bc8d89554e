// A collective, its arguments and where its ranks are: what algorithms are written against.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/comm/algorithms/link.h"
#include "engine/comm/reduction/types.h"

namespace thalweg::engine::comm {

/// What a group can be asked for.
enum class Collective { allreduce, reduce_scatter, allgather, broadcast, all_to_all, barrier };
const char* name_of(Collective collective);

/// What a call works on. A vector of `count` elements has a segment per rank, see segments().
struct Arguments {
  void* data = nullptr;      ///< in place; allgather and reduce_scatter: this rank's segment of it
  const void* in = nullptr;  ///< all_to_all: a segment for each rank; equal lengths
  std::size_t count = 0;
  std::size_t element = 1;  ///< bytes
  Type type = Type::f32;    ///< of reductions, as `op`
  Op op = Op::sum;          ///< average: see Row::averages
  int root = 0;             ///< of broadcast

  std::size_t bytes() const { return count * element; }
};

/// What an algorithm asks of the group.
enum class Needs {
  nothing,
  power_of_two,   ///< ranks
  machines,       ///< more than one, and more than one rank on some of them
  shared_memory,  ///< between all ranks
};

/// Where the ranks of a group are.
struct Layout {
  int rank = 0;
  int ranks = 1;
  /// Of each machine its ranks, ascending; machines in the order of their first ranks.
  std::vector<std::vector<int>> machines;
  int machine = 0;  ///< this rank's
  /// Memory: all ranks have a control block (or, before the first call, may get one).
  bool shares = false;

  bool one_machine() const { return machines.size() <= 1; }
  bool allows(Needs needs) const;
};

/// Bytes of the chunks in which pipelines cut their vectors: suited to what carries the messages.
std::size_t chunk_bytes(const Layout& layout);
/// Receives that they post ahead of time: one arrives while another is reduced, and one waits.
inline constexpr std::size_t kChunksAhead = 3;

/// The first of the elements that belong to `rank`: count * rank / ranks, which could overflow.
inline std::size_t first_of(std::size_t count, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  return count / n * r + count % n * r / n;
}

/// First element of every rank's segment of `count` elements, and the end: W + 1 numbers.
std::vector<std::size_t> segments(std::size_t count, int ranks);

/// How every algorithm is called. The link and what the arguments point to must stay until the task
/// has ended.
using Algorithm = Task(const Link& link, const Layout& layout, Arguments arguments);

}  // namespace thalweg::engine::comm
