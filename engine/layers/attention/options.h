// What the functions of attention need of its options.
#pragma once

#include <cstdint>

namespace thalweg::engine {

struct AttentionOptions {
  std::int64_t heads = 1;
  bool causal = false;  ///< a position sees only itself and those before it
};

}  // namespace thalweg::engine
