// Reduce-scatter on a ring: W - 1 steps; in each, a rank passes on the segment it has just reduced.
//
// Segment s starts its tour at rank s + 1 and arrives, complete, at rank s: its operands are always
// combined in the order of the ring, so its bits do not depend on timing.
#include <cstddef>

#include "engine/comm/algorithms/functions.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {

Task reduce_scatter_ring(const Link& link, const Layout&, Arguments a) {
  const int ranks = link.size();
  const int next = (link.rank() + 1) % ranks;
  const int previous = (link.rank() + ranks - 1) % ranks;
  const auto starts = segments(a.count, ranks);
  auto* bytes = static_cast<std::byte*>(a.data);
  const auto incoming = link.scratch((a.count / static_cast<std::size_t>(ranks) + 1) * a.element);

  for (int step = 1; step < ranks; ++step) {
    const auto out = static_cast<std::size_t>((link.rank() - step + ranks) % ranks);
    const auto in = static_cast<std::size_t>((link.rank() - step - 1 + 2 * ranks) % ranks);
    const std::size_t in_count = starts[in + 1] - starts[in];
    co_await link.exchange(next, bytes + starts[out] * a.element,
                           (starts[out + 1] - starts[out]) * a.element, previous, incoming.data(),
                           in_count * a.element);
    void* mine = bytes + starts[in] * a.element;
    combine(mine, incoming.data(), mine, in_count, a.type, a.op);
  }
}

}  // namespace thalweg::engine::comm
