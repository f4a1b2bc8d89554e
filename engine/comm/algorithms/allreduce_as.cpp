#include "engine/comm/algorithms/allreduce_as.h"

#include <algorithm>

#include "engine/comm/algorithms/collective.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {
namespace {

// Below this a second round of messages costs more than sending everything to everybody.
constexpr std::size_t kWholeUpToBytes = 2048;
// Long vectors go chunk by chunk, so that converting and adding overlap with the messages.
constexpr std::size_t kWireChunkElements = 512 * 1024;
constexpr std::size_t kMaxWireChunks = 128;
constexpr std::size_t kWireChunksAtOnce = 3;

/// Op over all ranks' vectors, in the order of the ranks, rounded as it will travel. `mine` is this
/// rank's; the others' arrive one after the other.
Task add_up(const Link& link, Type wire, const std::byte* mine, const std::byte* theirs,
            Arrivals& arrivals, float* sum, std::size_t count, Op op) {
  for (int r = 0; r < link.size(); ++r) {
    const std::byte* vector = mine;
    if (r != link.rank()) {
      co_await arrivals;
      vector = theirs;
      theirs += count * size_of(wire);
    }
    if (r == 0) {
      widen(sum, vector, count, wire);
    } else {
      combine_widened(sum, vector, count, wire, op);
    }
  }
  finish(sum, count, Type::f32, op, link.size());
}

/// Receives a vector of `count` from every other rank, one after the other in memory.
void post_arrivals(const Link& link, Arrivals& arrivals, std::byte* theirs, std::size_t bytes) {
  for (int r = 0; r < link.size(); ++r) {
    if (r == link.rank()) continue;
    arrivals.receive(r, theirs, bytes);
    theirs += bytes;
  }
}

Task whole(Link link, Type wire, float* data, std::size_t count, Op op) {
  const int ranks = link.size();
  const std::size_t bytes = count * size_of(wire);
  const auto mine = link.scratch(bytes);
  const auto theirs = link.scratch(bytes * static_cast<std::size_t>(ranks - 1));
  Arrivals arrivals(link);
  post_arrivals(link, arrivals, theirs.data(), bytes);
  narrow(mine.data(), data, count, wire);
  Messages sent(link);
  for (int step = 1; step < ranks; ++step) {
    sent.send((link.rank() + step) % ranks, mine.data(), bytes);
  }
  co_await add_up(link, wire, mine.data(), theirs.data(), arrivals, data, count, op);
  co_await sent;
  narrow(mine.data(), data, count, wire);
  widen(data, mine.data(), count, wire);
}

Task in_slices(Link link, Type wire, float* data, std::size_t count, Op op) {
  const int ranks = link.size();
  const auto me = static_cast<std::size_t>(link.rank());
  const auto starts = segments(count, ranks);
  const std::size_t element = size_of(wire);
  const auto length = [&](std::size_t r) { return starts[r + 1] - starts[r]; };
  const auto narrowed = link.scratch(count * element);
  const auto at = [&](std::size_t r) { return narrowed.data() + starts[r] * element; };
  const auto peer = [&](int step) {
    return static_cast<std::size_t>((link.rank() + step) % ranks);
  };

  const auto theirs = link.scratch(length(me) * element * static_cast<std::size_t>(ranks - 1));
  Arrivals arrivals(link);
  post_arrivals(link, arrivals, theirs.data(), length(me) * element);
  // Starting above oneself, so that not all ranks send to rank 0 first.
  Messages sent(link);
  for (int step = 1; step <= ranks; ++step) {
    const std::size_t to = peer(step);
    narrow(at(to), data + starts[to], length(to), wire);
    if (to != me) sent.send(static_cast<int>(to), at(to), length(to) * element);
  }
  float* sum = data + starts[me];
  co_await add_up(link, wire, at(me), theirs.data(), arrivals, sum, length(me), op);
  narrow(at(me), sum, length(me), wire);

  co_await sent;
  for (int step = 1; step < ranks; ++step) {
    const std::size_t r = peer(ranks - step);
    arrivals.receive(static_cast<int>(r), at(r), length(r) * element);
    sent.send(static_cast<int>(peer(step)), at(me), length(me) * element);
  }
  widen(sum, at(me), length(me), wire);
  for (int step = 1; step < ranks; ++step) {
    co_await arrivals;
    const std::size_t r = peer(ranks - step);
    widen(data + starts[r], at(r), length(r), wire);
  }
  co_await sent;
}

}  // namespace

Task allreduce_as(const Link& link, Type wire, float* data, std::size_t count, Op op) {
  if (count * size_of(wire) <= kWholeUpToBytes) {
    co_await whole(link, wire, data, count, op);
    co_return;
  }
  const std::size_t chunks = std::clamp((count + kWireChunkElements - 1) / kWireChunkElements,
                                        std::size_t{1}, kMaxWireChunks);
  const auto starts = segments(count, static_cast<int>(chunks));
  Together together(kWireChunksAtOnce);
  for (std::size_t i = 0; i < chunks; ++i) {
    together.add(in_slices(link.phase(static_cast<int>(i)), wire, data + starts[i],
                           starts[i + 1] - starts[i], op));
  }
  co_await together;
}

}  // namespace thalweg::engine::comm
