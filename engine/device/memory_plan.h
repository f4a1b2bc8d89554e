// Where tensors with known lifetimes lie in one block of memory, so that those never alive together
// share it.
#pragma once

#include <cstddef>
#include <vector>

namespace thalweg::engine {

/// Alive from operation `first` to operation `last`, both included.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< in bytes, multiples of 64; one per lifetime
  std::size_t bytes = 0;             ///< size of the block
};

/// Largest first, each at the lowest offset that is free during its life. Deterministic.
MemoryPlan plan_memory(const std::vector<Lifetime>& tensors);

}  // namespace thalweg::engine
