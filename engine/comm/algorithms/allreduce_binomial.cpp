// Allreduce on a binomial tree: reduced to rank 0, then broadcast.
#include <cstddef>

#include "engine/comm/algorithms/functions.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {

Task allreduce_binomial(const Link& link, const Layout& layout, Arguments a) {
  const int rank = link.rank();
  const auto theirs = link.scratch(a.bytes());
  for (int bit = 1; bit < link.size(); bit *= 2) {
    if (rank & bit) {
      co_await link.send(rank - bit, a.data, a.bytes());
      break;
    }
    if (rank + bit >= link.size()) continue;
    co_await link.receive(rank + bit, theirs.data(), a.bytes());
    combine(a.data, a.data, theirs.data(), a.count, a.type, a.op);
  }
  a.root = 0;
  co_await broadcast_binomial(link, layout, a);
}

}  // namespace thalweg::engine::comm
