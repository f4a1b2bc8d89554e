// What a pass over a shard reports.
#pragma once

#include <array>
#include <cstddef>

namespace thalweg::engine {

/// How many sums a loss may count for its metrics.
inline constexpr std::size_t max_sums = 6;

struct ShardResult {
  double loss_sum = 0;                  ///< sum over samples of the loss (not the mean)
  std::array<double, max_sums> sums{};  ///< what the loss counts for its metrics (LossKind)
};
// A GPU's kernels write it as contiguous numbers.
static_assert(sizeof(ShardResult) == (1 + max_sums) * sizeof(double));

}  // namespace thalweg::engine
