// Allreduce on a ring in chunks: a chunk that has been reduced goes on at once, while the next one
// of the same segment arrives.
//
// Chunk k of step t is number t K + k. What comes as number i goes on as number i + K: steps 0 to
// W - 2 reduce, the others gather.
#include <algorithm>
#include <cstddef>

#include "engine/comm/algorithms/functions.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {
namespace {

/// Where chunks are, by number.
struct Ring {
  std::size_t ranks, me, chunks, element;
  std::vector<std::size_t> starts;

  Ring(const Link& link, const Arguments& a, std::size_t chunk_bytes)
      : ranks(static_cast<std::size_t>(link.size())),
        me(static_cast<std::size_t>(link.rank())),
        chunks(std::max<std::size_t>(1, a.bytes() / ranks / chunk_bytes)),
        element(a.element),
        starts(segments(a.count, link.size())) {}

  bool reduces(std::size_t number) const { return number / chunks + 1 < ranks; }
  std::size_t total() const { return 2 * (ranks - 1) * chunks; }
  struct Chunk {
    std::size_t begin, count;
  };
  /// What this rank sends as `number`.
  Chunk out(std::size_t number) const {
    const std::size_t segment = (me + 2 * ranks - number / chunks - 1) % ranks;
    const std::size_t first = starts[segment], length = starts[segment + 1] - first;
    const std::size_t k = number % chunks;
    const std::size_t begin = length * k / chunks, end = length * (k + 1) / chunks;
    return {first + begin, end - begin};
  }
  Chunk in(std::size_t number) const { return out(number + chunks); }
  std::size_t largest() const { return (starts[1] + 1) / chunks + 1; }
};

}  // namespace

Task allreduce_ring_pipelined(const Link& link, const Layout& layout, Arguments a) {
  const Ring ring(link, a, chunk_bytes(layout));
  const int next = (link.rank() + 1) % link.size();
  const int previous = (link.rank() + link.size() - 1) % link.size();
  auto* data = static_cast<std::byte*>(a.data);
  const std::size_t slot_bytes = ring.largest() * a.element;
  const auto scratch = link.scratch(kChunksAhead * slot_bytes);
  const auto slot = [&](std::size_t number) {
    return scratch.data() + number % kChunksAhead * slot_bytes;
  };

  // The results come to where this rank's part of them was sent from before.
  Arrivals arrivals(link);
  const auto expect = [&](std::size_t number) {
    if (number >= ring.total()) return;
    const auto chunk = ring.in(number);
    arrivals.receive(previous, ring.reduces(number) ? slot(number) : data + chunk.begin * a.element,
                     chunk.count * a.element);
  };
  Messages sent(link);
  const auto send = [&](std::size_t number) {
    const auto chunk = ring.out(number);
    sent.send(next, data + chunk.begin * a.element, chunk.count * a.element);
  };

  for (std::size_t number = 0; number < kChunksAhead; ++number) {
    expect(number);
  }
  for (std::size_t number = 0; number < ring.chunks; ++number) {
    send(number);
  }
  for (std::size_t number = 0; number < ring.total(); ++number) {
    co_await arrivals;
    if (ring.reduces(number)) {
      const auto chunk = ring.in(number);
      std::byte* mine = data + chunk.begin * a.element;
      combine(mine, slot(number), mine, chunk.count, a.type, a.op);
    }
    if (number + ring.chunks < ring.total()) send(number + ring.chunks);
    expect(number + kChunksAhead);
  }
  co_await sent;
}

}  // namespace thalweg::engine::comm
