// Broadcast down a binomial tree: in step k, the 2^k ranks that have the data send it to 2^k more.
#include <cstddef>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task broadcast_binomial(const Link& link, const Layout&, Arguments a) {
  const int ranks = link.size();
  const int position = (link.rank() - a.root + ranks) % ranks;  // the root stands at 0
  const auto at = [&](int p) { return (p + a.root) % ranks; };

  // The lowest set bit of the position is the step in which the data arrives.
  int bit = 1;
  while (bit < ranks && (position & bit) == 0) {
    bit *= 2;
  }
  if (position != 0) co_await link.receive(at(position - bit), a.data, a.bytes());
  for (bit /= 2; bit > 0; bit /= 2) {
    if (position + bit < ranks) co_await link.send(at(position + bit), a.data, a.bytes());
  }
}

}  // namespace thalweg::engine::comm
