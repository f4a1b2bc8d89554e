// What a pass over a shard reports.
#pragma once

#include <array>
#include <cstddef>

namespace thalweg::engine {

/// How many sums a loss may count for its metrics.
inline constexpr std::size_t most_sums = 6;

struct ShardResult {
  double loss_sum = 0;                   ///< sum over samples of the loss (not the mean)
  std::array<double, most_sums> sums{};  ///< what the loss counts for its metrics (LossKind)
};

}  // namespace thalweg::engine
