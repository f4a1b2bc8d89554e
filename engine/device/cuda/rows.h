// How many threads take a row of numbers together.
#pragma once

#include <cstdint>

namespace thalweg::engine::cuda {

/// Threads of a block whose rows are `count` long: whole warps, and few enough that many blocks
/// share a multiprocessor.
constexpr int team_for(std::int64_t count) {
  constexpr std::int64_t warp = 32, most = 256;
  const std::int64_t threads = (count + warp - 1) / warp * warp;
  return static_cast<int>(threads < warp ? warp : threads < most ? threads : most);
}

}  // namespace thalweg::engine::cuda
