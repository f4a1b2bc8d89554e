// What the functions of group_norm need of its options.
#pragma once

#include <cstdint>

namespace thalweg::engine {

struct GroupNormOptions {
  std::int64_t groups = 1;  ///< equal parts of the channels
  double epsilon = 1e-5;    ///< added to the variance
};

}  // namespace thalweg::engine
