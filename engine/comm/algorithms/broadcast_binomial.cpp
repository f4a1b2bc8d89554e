// Broadcast down a binomial tree: in step k, the 2^k ranks that have the data send it to 2^k more.
#include <cstddef>

#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {

void broadcast_binomial(Link& link, void* data, std::size_t bytes, int root) {
  const int ranks = link.size();
  const int position = (link.rank() - root + ranks) % ranks;  // the root stands at 0
  const auto at = [&](int p) { return (p + root) % ranks; };

  // The lowest set bit of the position is the step in which the data arrives.
  int bit = 1;
  while (bit < ranks && (position & bit) == 0) {
    bit *= 2;
  }
  if (position != 0) link.receive(at(position - bit), data, bytes);
  for (bit /= 2; bit > 0; bit /= 2) {
    if (position + bit < ranks) link.send(at(position + bit), data, bytes);
  }
}

}  // namespace thalweg::engine::comm
