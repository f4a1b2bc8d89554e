// All-to-all: in step k, every rank sends to the rank k above and receives from the rank k below.
#include <cstddef>
#include <cstring>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task all_to_all_pairwise(const Link& link, const Layout&, Arguments a) {
  const int ranks = link.size();
  const std::size_t each = a.bytes() / static_cast<std::size_t>(ranks);
  const auto* out = static_cast<const std::byte*>(a.in);
  auto* in = static_cast<std::byte*>(a.data);
  const auto at = [each](int rank) { return static_cast<std::size_t>(rank) * each; };

  if (each > 0) std::memcpy(in + at(link.rank()), out + at(link.rank()), each);
  for (int step = 1; step < ranks; ++step) {
    const int to = (link.rank() + step) % ranks;
    const int from = (link.rank() + ranks - step) % ranks;
    co_await link.exchange(to, out + at(to), each, from, in + at(from), each);
  }
}

}  // namespace thalweg::engine::comm
