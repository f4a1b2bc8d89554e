#include "engine/comm/algorithms/direct.h"

#include <cstddef>

#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {
namespace {

struct Slices {
  std::byte* data;
  std::size_t element;
  std::vector<std::size_t> starts;

  Slices(const Arguments& a, int owners)
      : data(static_cast<std::byte*>(a.data)),
        element(a.element),
        starts(segments(a.count, owners)) {}
  std::byte* at(int owner) const {
    return data + starts[static_cast<std::size_t>(owner)] * element;
  }
  std::size_t count(int owner) const {
    const auto o = static_cast<std::size_t>(owner);
    return starts[o + 1] - starts[o];
  }
  std::size_t bytes(int owner) const { return count(owner) * element; }
};

}  // namespace

Task reduce_to_owners(Link link, int owners, Arguments a) {
  const int me = link.rank(), ranks = link.size();
  const Slices slices(a, owners);
  // Starting above oneself, so that not all ranks send to rank 0 first.
  Messages sent(link);
  const auto send_all = [&] {
    for (int step = 1; step < ranks; ++step) {
      const int to = (me + step) % ranks;
      if (to < owners) sent.send(to, slices.at(to), slices.bytes(to));
    }
  };
  if (me >= owners) {
    send_all();
    co_await sent;
    co_return;
  }

  const std::size_t bytes = slices.bytes(me);
  const auto scratch = link.scratch(bytes * static_cast<std::size_t>(ranks - 1));
  Arrivals arrivals(link);
  std::byte* free = scratch.data();
  for (int r = 0; r < ranks; ++r) {
    if (r == me) continue;
    arrivals.receive(r, free, bytes);
    free += bytes;
  }
  send_all();
  free = scratch.data();
  std::byte* sum = nullptr;
  for (int r = 0; r < ranks; ++r) {
    std::byte* vector = slices.at(me);
    if (r != me) {
      co_await arrivals;
      vector = free;
      free += bytes;
    }
    if (r == 0) {
      sum = vector;
      continue;
    }
    // This rank's own slice is still needed until its turn; the last result goes there.
    std::byte* into = r + 1 == ranks ? slices.at(me) : sum;
    combine(into, sum, vector, slices.count(me), a.type, a.op);
    sum = into;
  }
  co_await sent;
}

Task spread_from_owners(Link link, int owners, Arguments a) {
  const int me = link.rank(), ranks = link.size();
  const Slices slices(a, owners);
  Messages messages(link);
  for (int step = 1; step < ranks; ++step) {
    const int from = (me + ranks - step) % ranks;
    if (from < owners) messages.receive(from, slices.at(from), slices.bytes(from));
  }
  for (int step = 1; step < ranks && me < owners; ++step) {
    messages.send((me + step) % ranks, slices.at(me), slices.bytes(me));
  }
  co_await messages;
}

}  // namespace thalweg::engine::comm
