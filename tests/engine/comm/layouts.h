// Rank counts and layouts of machines on which every algorithm is tried.
#pragma once

#include <vector>

#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {

inline constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 16};

/// Ways to put `ranks` on machines (of each rank its machine) on which a row that `needs` it works;
/// none where it works on no such number of ranks. The last one is the least even.
inline std::vector<std::vector<int>> layouts(Needs needs, int ranks) {
  std::vector<std::vector<int>> found;
  const auto dealt = [&](auto&& machine) {
    std::vector<int> machine_of;
    for (int r = 0; r < ranks; ++r) {
      machine_of.push_back(machine(r));
    }
    return machine_of;
  };
  if (needs == Needs::machines) {
    if (ranks > 2) found.push_back(dealt([](int r) { return r % 2; }));
    if (ranks > 3) found.push_back(dealt([](int r) { return r / 3; }));
    if (ranks > 4) found.push_back(dealt([](int r) { return r == 0 ? 0 : 1 + r % 3; }));
  } else if (needs != Needs::power_of_two || (ranks & (ranks - 1)) == 0) {
    found.push_back(dealt([](int) { return 0; }));
  }
  return found;
}

}  // namespace thalweg::engine::comm
