// All-to-all after Bruck: in step k, every rank sends the blocks whose way to go has bit k to the
// rank 2^k above. Fewest messages, for short blocks; each travels up to log2 W times.
#include <cstddef>
#include <cstring>

#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task all_to_all_bruck(const Link& link, const Layout&, Arguments a) {
  const int me = link.rank(), ranks = link.size();
  const std::size_t each = a.bytes() / static_cast<std::size_t>(ranks);
  const auto* out = static_cast<const std::byte*>(a.in);
  auto* in = static_cast<std::byte*>(a.data);
  const auto at = [each](int block) { return static_cast<std::size_t>(block) * each; };

  // Block i has i ranks to go.
  const auto blocks = link.scratch(a.bytes());
  const auto packed_out = link.scratch(a.bytes()), packed_in = link.scratch(a.bytes());
  for (int i = 0; i < ranks; ++i) {
    std::memcpy(blocks.data() + at(i), out + at((me + i) % ranks), each);
  }
  for (int bit = 1; bit < ranks; bit *= 2) {
    int count = 0;
    for (int i = bit; i < ranks; ++i) {
      if (i & bit) std::memcpy(packed_out.data() + at(count++), blocks.data() + at(i), each);
    }
    co_await link.exchange((me + bit) % ranks, packed_out.data(), at(count),
                           (me + ranks - bit) % ranks, packed_in.data(), at(count));
    count = 0;
    for (int i = bit; i < ranks; ++i) {
      if (i & bit) std::memcpy(blocks.data() + at(i), packed_in.data() + at(count++), each);
    }
  }
  // Block i has come from i ranks below.
  for (int i = 0; i < ranks; ++i) {
    std::memcpy(in + at((me + ranks - i) % ranks), blocks.data() + at(i), each);
  }
}

}  // namespace thalweg::engine::comm
