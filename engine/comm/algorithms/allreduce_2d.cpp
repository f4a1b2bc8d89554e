// Allreduce on a grid of ranks, as near to a square as W allows: reduce-scatter in the rows,
// allreduce in the columns, allgather in the rows, each on a ring.
#include <cstddef>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {
namespace {

/// Ranks per row: the smallest divisor of W that is not below its square root.
int row_length(int ranks) {
  for (int length = 1;; ++length) {
    if (ranks % length == 0 && length * length >= ranks) return length;
  }
}

}  // namespace

Task allreduce_2d(const Link& link, const Layout& layout, Arguments a) {
  const int width = row_length(link.size());
  const int my_row = link.rank() / width, my_column = link.rank() % width;
  std::vector<int> row_members, column_members;
  for (int r = 0; r < link.size(); ++r) {
    if (r / width == my_row) row_members.push_back(link.world_rank(r));
    if (r % width == my_column) column_members.push_back(link.world_rank(r));
  }
  const Link row = link.subgroup(row_members, my_column, 0);
  const Link column = link.subgroup(column_members, my_row, 1);

  const auto starts = segments(a.count, width);
  const auto segment = static_cast<std::size_t>(my_column);
  Arguments part = a;
  part.data = static_cast<std::byte*>(a.data) + starts[segment] * a.element;
  part.count = starts[segment + 1] - starts[segment];
  co_await reduce_scatter_ring(row, layout, a);
  co_await allreduce_ring(column, layout, part);
  co_await allgather_ring(row, layout, a);
}

}  // namespace thalweg::engine::comm
