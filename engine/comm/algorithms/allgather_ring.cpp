// Allgather on a ring: W - 1 steps; in each, a rank passes on the segment that came last.
#include <cstddef>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task allgather_ring(const Link& link, const Layout&, Arguments a) {
  const int ranks = link.size();
  const int next = (link.rank() + 1) % ranks;
  const int previous = (link.rank() + ranks - 1) % ranks;
  const auto starts = segments(a.count, ranks);
  auto* bytes = static_cast<std::byte*>(a.data);
  const auto at = [&](std::size_t r) { return bytes + starts[r] * a.element; };
  const auto length = [&](std::size_t r) { return (starts[r + 1] - starts[r]) * a.element; };

  for (int step = 0; step + 1 < ranks; ++step) {
    const auto out = static_cast<std::size_t>((link.rank() - step + ranks) % ranks);
    const auto in = static_cast<std::size_t>((link.rank() - step - 1 + ranks) % ranks);
    co_await link.exchange(next, at(out), length(out), previous, at(in), length(in));
  }
}

}  // namespace thalweg::engine::comm
