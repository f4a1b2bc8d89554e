// Barrier by dissemination: in step k, every rank tells the rank 2^k above that it has arrived.
// Hensgen, Finkel, Manber: Two algorithms for barrier synchronization (1988).
#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task barrier_dissemination(const Link& link, const Layout&, Arguments) {
  const int ranks = link.size();
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int to = (link.rank() + distance) % ranks;
    const int from = (link.rank() - distance % ranks + ranks) % ranks;
    co_await link.exchange(to, nullptr, 0, from, nullptr, 0);
  }
}

}  // namespace thalweg::engine::comm
