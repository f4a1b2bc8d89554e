// Allgather after Bruck: every step doubles the run of segments that a rank has, for any W.
// Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications in
// multiport message-passing systems (1997).
#include <algorithm>
#include <cstddef>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task allgather_bruck(const Link& link, const Layout&, Arguments a) {
  const int rank = link.rank(), ranks = link.size();
  const auto starts = segments(a.count, ranks);
  auto* data = static_cast<std::byte*>(a.data);
  // A run of `count` segments from `first` on ends where the vector ends, or goes on at its start:
  // one message or two.
  const auto each_part = [&](int first, int count, auto&& f) {
    const int end = std::min(first + count, ranks);
    const auto part = [&](int from, int to) {
      const std::size_t begin = starts[static_cast<std::size_t>(from)] * a.element;
      f(data + begin, starts[static_cast<std::size_t>(to)] * a.element - begin);
    };
    part(first, end);
    if (first + count > ranks) part(0, first + count - ranks);
  };

  Messages messages(link);
  for (int have = 1; have < ranks; have *= 2) {
    const int more = std::min(have, ranks - have);
    const int to = (rank + ranks - have) % ranks, from = (rank + have) % ranks;
    each_part(from, more,
              [&](std::byte* at, std::size_t bytes) { messages.receive(from, at, bytes); });
    each_part(rank, more, [&](std::byte* at, std::size_t bytes) { messages.send(to, at, bytes); });
    co_await messages;
  }
}

}  // namespace thalweg::engine::comm
