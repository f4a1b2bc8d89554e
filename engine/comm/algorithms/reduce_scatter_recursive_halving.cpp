// Reduce-scatter by recursive halving: in step k, ranks W / 2^(k+1) apart exchange halves of what
// is left, and each adds up its own half.
//
// With W not a power of two, pairs of ranks take part as one (fold.h). Rabenseifner: Optimization
// of collective reduction operations (2004).
#include <algorithm>
#include <cstddef>

#include "engine/comm/algorithms/fold.h"
#include "engine/comm/algorithms/functions.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {

Task reduce_scatter_recursive_halving(const Link& link, const Layout&, Arguments a) {
  const int rank = link.rank();
  const Fold fold(rank, link.size());
  const auto starts = segments(a.count, link.size());
  auto* data = static_cast<std::byte*>(a.data);
  // Of the segments of positions [first, last).
  const auto start = [&](int p) { return starts[static_cast<std::size_t>(fold.first_rank(p))]; };
  const auto at = [&](int p) { return data + start(p) * a.element; };
  const auto count = [&](int first, int last) { return start(last) - start(first); };
  const auto r = static_cast<std::size_t>(rank);

  if (fold.gives()) {
    co_await link.send(rank + 1, a.data, a.bytes());
    co_await link.receive(rank + 1, data + starts[r] * a.element,
                          (starts[r + 1] - starts[r]) * a.element);
    co_return;
  }
  // Halves by positions: with pairs among them, the first is the longer one.
  const int half = fold.power / 2;
  const std::size_t longest =
      fold.takes() ? a.count : std::max(count(0, half), count(half, fold.power));
  const auto theirs = link.scratch(longest * a.element);
  if (fold.takes()) {
    co_await link.receive(rank - 1, theirs.data(), a.bytes());
    combine(a.data, theirs.data(), a.data, a.count, a.type, a.op);
  }

  int first = 0, last = fold.power;
  for (int step = fold.power / 2; step > 0; step /= 2) {
    const int middle = first + step;
    const bool low = fold.position < middle;
    const int peer = fold.rank_at(fold.position ^ step);
    const int mine = low ? first : middle, mine_end = low ? middle : last;
    const int out = low ? middle : first, out_end = low ? last : middle;
    co_await link.exchange(peer, at(out), count(out, out_end) * a.element, peer, theirs.data(),
                           count(mine, mine_end) * a.element);
    const void* left = low ? at(mine) : theirs.data();
    const void* right = low ? theirs.data() : at(mine);
    combine(at(mine), left, right, count(mine, mine_end), a.type, a.op);
    first = mine;
    last = mine_end;
  }

  if (fold.takes()) {
    co_await link.send(rank - 1, data + starts[r - 1] * a.element,
                       (starts[r] - starts[r - 1]) * a.element);
  }
}

}  // namespace thalweg::engine::comm
