// Which points of a curve stay when old curves are thinned. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "db/chunk.h"

namespace thalweg::db {

/// What may be done to a series of points.
enum class Thinning : std::uint8_t {
  none,    ///< every point counts: validation, sums up to now, single events
  sample,  ///< points at even distances, the smallest and the largest value, what is not finite
  mean     ///< means over the steps since the point before: neighbours become one mean over their
           ///< steps, so that sums over steps stay what they were
};

/// Of a metric by its name (jobspec/metric_names.h). `own`: the sweep's metric, which is what
/// comparisons rest on.
Thinning thinning_of(std::string_view metric, std::string_view own);

using ThinPoint = ChunkPoint;

/// About `wanted` (at least 2) of them, the first and the last among them. Returned as they are
/// where there are no more, or where steps do not grow.
std::vector<ThinPoint> thinned(const std::vector<ThinPoint>& points, std::int64_t wanted,
                               Thinning how);

}  // namespace thalweg::db
