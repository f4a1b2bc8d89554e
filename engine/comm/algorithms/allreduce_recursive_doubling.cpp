// Allreduce by recursive doubling: in step k, ranks 2^k apart exchange the whole vector.
//
// With W not a power of two, pairs of ranks take part as one (fold.h) and share the result at the
// end. Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH
// (2005).
#include <cstddef>

#include "engine/comm/algorithms/fold.h"
#include "engine/comm/algorithms/functions.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {

Task allreduce_recursive_doubling(const Link& link, const Layout&, Arguments a) {
  const int rank = link.rank();
  const Fold fold(rank, link.size());
  if (fold.gives()) {
    co_await link.send(rank + 1, a.data, a.bytes());
    co_await link.receive(rank + 1, a.data, a.bytes());
    co_return;
  }
  const auto theirs = link.scratch(a.bytes());
  if (fold.takes()) {
    co_await link.receive(rank - 1, theirs.data(), a.bytes());
    combine(a.data, theirs.data(), a.data, a.count, a.type, a.op);
  }

  for (int step = 1; step < fold.power; step *= 2) {
    const int peer = fold.rank_at(fold.position ^ step);
    co_await link.exchange(peer, a.data, a.bytes(), peer, theirs.data(), a.bytes());
    // The lower rank's vector is always on the left: both sides get the same bits.
    const void* left = peer < rank ? theirs.data() : a.data;
    const void* right = peer < rank ? a.data : theirs.data();
    combine(a.data, left, right, a.count, a.type, a.op);
  }

  if (fold.takes()) co_await link.send(rank - 1, a.data, a.bytes());
}

}  // namespace thalweg::engine::comm
