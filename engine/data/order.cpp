// Orders and splits from counter-based random numbers.
#include "engine/data/order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
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

Split split(std::size_t count, std::size_t validation, double fraction, int duplicate, bool tail) {
  if (validation < 1 || validation >= count)
    throw std::invalid_argument("data.validation: cannot hold out " + std::to_string(validation) +
                                " of " + std::to_string(count) + " samples");
  const auto kept = [&](std::size_t n) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(n) * fraction));
  };
  const std::size_t drawn = tail ? count - validation : count;
  std::vector<std::uint32_t> order = permutation(kSplitSeed, Stream::split, 0, drawn);
  if (tail) {
    std::vector<std::uint32_t> last(validation);
    std::iota(last.begin(), last.end(), static_cast<std::uint32_t>(drawn));
    order.insert(order.begin(), last.begin(), last.end());
  }
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(validation);
  Split parts;
  parts.validation.assign(order.begin(),
                          order.begin() + static_cast<std::ptrdiff_t>(kept(validation)));
  parts.training.assign(middle, middle + static_cast<std::ptrdiff_t>(kept(count - validation)));
  std::sort(parts.validation.begin(), parts.validation.end());
  std::sort(parts.training.begin(), parts.training.end());
  const std::size_t once = parts.training.size();
  if (once > std::numeric_limits<std::uint32_t>::max() / static_cast<std::size_t>(duplicate))
    throw std::invalid_argument(
        "data.duplicate: more than 2^32 samples an epoch are not supported");
  parts.training.resize(once * static_cast<std::size_t>(duplicate));
  for (std::size_t i = once; i < parts.training.size(); ++i)
    parts.training[i] = parts.training[i - once];
  return parts;
}

}  // namespace thalweg::engine
