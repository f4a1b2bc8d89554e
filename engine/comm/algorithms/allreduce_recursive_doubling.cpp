// Allreduce by recursive doubling: in step k, ranks 2^k apart exchange the whole vector.
//
// With W not a power of two, P = the largest power of two below it: each of the first W - P even
// ranks hands its vector to the odd rank above and gets the result back at the end.
// Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005).
#include <bit>
#include <cstddef>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/reduce.h"

namespace thalweg::engine::comm {

Task allreduce_recursive_doubling(const Link& link, const Layout&, Arguments a) {
  const int rank = link.rank();
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(link.size())));
  const int extra = link.size() - power;
  const auto theirs = link.scratch(a.bytes());

  int position = rank - extra;  // among the `power` ranks that take part in the steps
  if (rank < 2 * extra) {
    if (rank % 2 == 0) {
      co_await link.send(rank + 1, a.data, a.bytes());
      co_await link.receive(rank + 1, a.data, a.bytes());
      co_return;
    }
    co_await link.receive(rank - 1, theirs.data(), a.bytes());
    combine(a.data, theirs.data(), a.data, a.count, a.type, a.op);
    position = rank / 2;
  }

  for (int step = 1; step < power; step *= 2) {
    const int across = position ^ step;
    const int peer = across < extra ? 2 * across + 1 : across + extra;
    co_await link.exchange(peer, a.data, a.bytes(), peer, theirs.data(), a.bytes());
    // The lower rank's vector is always on the left: both sides get the same bits.
    const void* left = peer < rank ? theirs.data() : a.data;
    const void* right = peer < rank ? a.data : theirs.data();
    combine(a.data, left, right, a.count, a.type, a.op);
  }

  if (rank < 2 * extra) co_await link.send(rank - 1, a.data, a.bytes());
}

}  // namespace thalweg::engine::comm
