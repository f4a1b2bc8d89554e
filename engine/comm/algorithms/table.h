// The collective algorithms: one .cpp each, one row each. Formulas: README.md.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "engine/comm/algorithms/link.h"
#include "engine/comm/group.h"

namespace thalweg::engine::comm {

void allreduce_recursive_doubling(Link& link, void* data, std::size_t count, Type type, Op op);
void allreduce_ring(Link& link, void* data, std::size_t count, Type type, Op op);

/// Rank r ends with the sum of segment r of `count` elements: [count*r/W, count*(r+1)/W).
/// `scratch` holds one segment (the longest).
void reduce_scatter_ring(Link& link, void* data, std::size_t count, Type type, Op op,
                         void* scratch);
/// Segment r of `all`, [starts[r], starts[r+1]) bytes, is in place on rank r, and ends on every
/// rank.
void allgather_ring(Link& link, void* all, std::span<const std::size_t> starts);
void broadcast_binomial(Link& link, void* data, std::size_t bytes, int root);
void barrier_dissemination(Link& link);

/// First byte of every rank's segment of `count` elements, and the end: W + 1 numbers.
std::vector<std::size_t> segments(std::size_t count, Type type, int ranks);

using Allreduce = void(Link&, void* data, std::size_t count, Type, Op);

struct AllreduceRow {
  const char* name;
  const char* good_for;
  const char* steps;       ///< W ranks
  const char* bytes;       ///< sent by each rank, n = bytes of the vector
  std::size_t auto_up_to;  ///< "auto" takes the first row with n <= this
  Allreduce* run;
};

std::span<const AllreduceRow> allreduce_table();
/// nullptr: no such name.
const AllreduceRow* find_allreduce(std::string_view name);
/// What "auto" means for a vector of `bytes`.
const AllreduceRow& choose_allreduce(std::size_t bytes);

}  // namespace thalweg::engine::comm
