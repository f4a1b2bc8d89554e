// Allgather by recursive doubling: in step k, ranks 2^k apart exchange all they have.
//
// With W not a power of two, pairs of ranks take part as one (fold.h).
#include <cstddef>

#include "engine/comm/algorithms/fold.h"
#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task allgather_recursive_doubling(const Link& link, const Layout&, Arguments a) {
  const int rank = link.rank();
  const Fold fold(rank, link.size());
  const auto starts = segments(a.count, link.size());
  auto* data = static_cast<std::byte*>(a.data);
  // Of ranks [first, last).
  const auto at = [&](int first) {
    return data + starts[static_cast<std::size_t>(first)] * a.element;
  };
  const auto bytes = [&](int first, int last) {
    return static_cast<std::size_t>(at(last) - at(first));
  };

  if (fold.gives()) {
    co_await link.send(rank + 1, at(rank), bytes(rank, rank + 1));
    co_await link.receive(rank + 1, a.data, a.bytes());
    co_return;
  }
  if (fold.takes()) co_await link.receive(rank - 1, at(rank - 1), bytes(rank - 1, rank));

  for (int step = 1; step < fold.power; step *= 2) {
    const int peer = fold.rank_at(fold.position ^ step);
    const int mine = fold.position & ~(step - 1), theirs = mine ^ step;
    const int out = fold.first_rank(mine), out_end = fold.first_rank(mine + step);
    const int in = fold.first_rank(theirs), in_end = fold.first_rank(theirs + step);
    co_await link.exchange(peer, at(out), bytes(out, out_end), peer, at(in), bytes(in, in_end));
  }

  if (fold.takes()) co_await link.send(rank - 1, a.data, a.bytes());
}

}  // namespace thalweg::engine::comm
