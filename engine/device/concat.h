// Which size of a sample grows where values are concatenated.
#pragma once

#include <cstddef>

#include "engine/tensor/shape.h"

namespace thalweg::engine {

/// Channels of (c, h, w) and (c, d, h, w), features of (features) and (positions, features).
inline std::size_t concat_axis(const Shape& sample) {
  return sample.size() == 2 ? 1 : 0;
}

}  // namespace thalweg::engine
