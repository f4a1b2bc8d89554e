// Broadcast of long vectors: the root scatters segments down a binomial tree, then all gather them
// on a ring. Van de Geijn: On global combine operations (1994).
#include <algorithm>
#include <cstddef>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task broadcast_scatter_allgather(const Link& link, const Layout& layout, Arguments a) {
  const int ranks = link.size();
  const int position = (link.rank() - a.root + ranks) % ranks;  // the root stands at 0
  std::vector<int> members;
  for (int p = 0; p < ranks; ++p) {
    members.push_back(link.world_rank((p + a.root) % ranks));
  }
  const Link turned = link.subgroup(members, position, 0);
  const auto starts = segments(a.count, ranks);
  auto* data = static_cast<std::byte*>(a.data);
  const auto at = [&](int p) { return data + starts[static_cast<std::size_t>(p)] * a.element; };
  const auto bytes = [&](int p, int length) {
    return static_cast<std::size_t>(at(std::min(p + length, ranks)) - at(p));
  };

  // Position p gets segments [p, p + its lowest set bit) and hands on the upper halves.
  int bit = 1;
  while (bit < ranks && (position & bit) == 0) {
    bit *= 2;
  }
  if (position != 0) co_await turned.receive(position - bit, at(position), bytes(position, bit));
  for (bit /= 2; bit > 0; bit /= 2) {
    const int to = position + bit;
    if (to < ranks) co_await turned.send(to, at(to), bytes(to, bit));
  }
  co_await allgather_ring(turned, layout, a);
}

}  // namespace thalweg::engine::comm
