// Orders from counter-based random numbers.
#include "engine/data/order.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace thalweg::engine {

std::vector<std::uint32_t> permutation(std::uint64_t seed, Stream stream, std::uint32_t round,
                                       std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw std::invalid_argument("more than 2^32 samples are not supported");
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keyed(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = philox(seed, stream, round, i);
    keyed[i] = {std::uint64_t{bits[1]} << 32 | bits[0], static_cast<std::uint32_t>(i)};
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::uint32_t> order(count);
  std::transform(keyed.begin(), keyed.end(), order.begin(), [](const auto& k) { return k.second; });
  return order;
}

}  // namespace thalweg::engine
