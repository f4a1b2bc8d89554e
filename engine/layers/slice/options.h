// What the functions of slice need of its options.
#pragma once

#include <cstdint>

namespace thalweg::engine {

struct SliceOptions {
  std::int64_t first = 0;  ///< of the positions
};

struct PadOptions {
  std::int64_t before = 0;  ///< positions
};

}  // namespace thalweg::engine
