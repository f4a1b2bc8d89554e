// Reduce-scatter on a ring: W - 1 steps; in each, a rank passes on the segment it has just reduced.
//
// Segment s starts its tour at rank s + 1 and arrives, complete, at rank s: its operands are always
// combined in the order of the ring, so its bits do not depend on timing.
#include <cstddef>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/reduce.h"

namespace thalweg::engine::comm {

void reduce_scatter_ring(Link& link, void* data, std::size_t count, Type type, Op op,
                         void* scratch) {
  const int ranks = link.size();
  const int next = (link.rank() + 1) % ranks;
  const int previous = (link.rank() + ranks - 1) % ranks;
  const auto starts = segments(count, type, ranks);
  auto* bytes = static_cast<std::byte*>(data);

  for (int step = 1; step < ranks; ++step) {
    const auto out = static_cast<std::size_t>((link.rank() - step + ranks) % ranks);
    const auto in = static_cast<std::size_t>((link.rank() - step - 1 + 2 * ranks) % ranks);
    const std::size_t in_bytes = starts[in + 1] - starts[in];
    link.exchange(next, bytes + starts[out], starts[out + 1] - starts[out], previous, scratch,
                  in_bytes);
    void* mine = bytes + starts[in];
    combine(mine, scratch, mine, in_bytes / size_of(type), type, op);
  }
}

}  // namespace thalweg::engine::comm
