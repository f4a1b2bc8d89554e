// Allreduce on a ring: reduce-scatter, then allgather. Every rank sends 2 (W-1)/W of the vector,
// which is the least possible.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {

void allreduce_ring(Link& link, void* data, std::size_t count, Type type, Op op) {
  const auto starts = segments(count, type, link.size());
  std::size_t longest = 0;
  for (std::size_t r = 0; r + 1 < starts.size(); ++r) {
    longest = std::max(longest, starts[r + 1] - starts[r]);
  }
  std::vector<std::byte> scratch(longest);
  reduce_scatter_ring(link, data, count, type, op, scratch.data());
  allgather_ring(link, data, starts);
}

}  // namespace thalweg::engine::comm
