#include "engine/comm/algorithms/leaders.h"

#include <algorithm>

namespace thalweg::engine::comm {

Leaders::Leaders(const Link& link, const Layout& layout)
    : each(layout.ranks), machine(layout.machine) {
  for (const auto& ranks : layout.machines) {
    each = std::min(each, static_cast<int>(ranks.size()));
  }
  for (const auto& ranks : layout.machines) {
    auto& leaders = of.emplace_back();
    for (int j = 0; j < each; ++j) {
      leaders.push_back(link.world_rank(ranks[static_cast<std::size_t>(j)]));
    }
  }
  for (const int rank : layout.machines[static_cast<std::size_t>(machine)]) {
    if (rank == layout.rank) place = static_cast<int>(local.size());
    local.push_back(link.world_rank(rank));
  }
}

std::vector<int> Leaders::column() const {
  std::vector<int> ranks;
  for (const auto& leaders : of) {
    ranks.push_back(leaders[static_cast<std::size_t>(place)]);
  }
  return ranks;
}

}  // namespace thalweg::engine::comm
