// Allgather on a ring: W - 1 steps; in each, a rank passes on the segment that came last.
#include <cstddef>

#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {

void allgather_ring(Link& link, void* all, std::span<const std::size_t> starts) {
  const int ranks = link.size();
  const int next = (link.rank() + 1) % ranks;
  const int previous = (link.rank() + ranks - 1) % ranks;
  auto* bytes = static_cast<std::byte*>(all);

  for (int step = 0; step + 1 < ranks; ++step) {
    const auto out = static_cast<std::size_t>((link.rank() - step + ranks) % ranks);
    const auto in = static_cast<std::size_t>((link.rank() - step - 1 + ranks) % ranks);
    link.exchange(next, bytes + starts[out], starts[out + 1] - starts[out], previous,
                  bytes + starts[in], starts[in + 1] - starts[in]);
  }
}

}  // namespace thalweg::engine::comm
