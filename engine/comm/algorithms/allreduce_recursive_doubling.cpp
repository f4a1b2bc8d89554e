// Allreduce by recursive doubling: in step k, ranks 2^k apart exchange the whole vector.
//
// With W not a power of two, P = the largest power of two below it: each of the first W - P even
// ranks hands its vector to the odd rank above and gets the result back at the end.
// Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH (2005).
#include <bit>
#include <cstddef>
#include <vector>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/reduce.h"

namespace thalweg::engine::comm {

void allreduce_recursive_doubling(Link& link, void* data, std::size_t count, Type type, Op op) {
  const int rank = link.rank();
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(link.size())));
  const int extra = link.size() - power;
  const std::size_t bytes = count * size_of(type);
  std::vector<std::byte> theirs(bytes);

  int position = rank - extra;  // among the `power` ranks that take part in the steps
  if (rank < 2 * extra) {
    if (rank % 2 == 0) {
      link.send(rank + 1, data, bytes);
      link.receive(rank + 1, data, bytes);
      return;
    }
    link.receive(rank - 1, theirs.data(), bytes);
    combine(data, theirs.data(), data, count, type, op);
    position = rank / 2;
  }

  for (int step = 1; step < power; step *= 2) {
    const int across = position ^ step;
    const int peer = across < extra ? 2 * across + 1 : across + extra;
    link.exchange(peer, data, bytes, peer, theirs.data(), bytes);
    // The lower rank's vector is always on the left: both sides get the same bits.
    const void* left = peer < rank ? theirs.data() : data;
    const void* right = peer < rank ? data : theirs.data();
    combine(data, left, right, count, type, op);
  }

  if (rank < 2 * extra) link.send(rank - 1, data, bytes);
}

}  // namespace thalweg::engine::comm
