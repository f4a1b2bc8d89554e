// What the functions of cross_attention need of its options.
#pragma once

#include <cstdint>

namespace thalweg::engine {

struct CrossAttentionOptions {
  std::int64_t heads = 1;
};

}  // namespace thalweg::engine
