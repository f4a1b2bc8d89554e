// Broadcast down a chain of ranks in chunks: each passes on what it has, while the next chunk
// arrives.
#include <algorithm>
#include <cstddef>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {
namespace {}  // namespace

Task broadcast_chain(const Link& link, const Layout& layout, Arguments a) {
  const int ranks = link.size();
  const bool first = link.rank() == a.root;
  const bool last = (link.rank() + 1) % ranks == a.root;
  const int previous = (link.rank() + ranks - 1) % ranks, next = (link.rank() + 1) % ranks;
  const std::size_t chunk = chunk_bytes(layout);
  const std::size_t chunks = (a.bytes() + chunk - 1) / chunk;
  auto* data = static_cast<std::byte*>(a.data);
  const auto bytes = [&](std::size_t k) { return std::min(chunk, a.bytes() - k * chunk); };

  Arrivals arrivals(link);
  const auto expect = [&](std::size_t k) {
    if (!first && k < chunks) arrivals.receive(previous, data + k * chunk, bytes(k));
  };
  Messages sent(link);
  for (std::size_t k = 0; k < kChunksAhead; ++k) {
    expect(k);
  }
  for (std::size_t k = 0; k < chunks; ++k) {
    if (!first) co_await arrivals;
    if (!last) sent.send(next, data + k * chunk, bytes(k));
    expect(k + kChunksAhead);
  }
  co_await sent;
}

}  // namespace thalweg::engine::comm
