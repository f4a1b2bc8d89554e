// Allreduce in three storeys: the ranks of a machine reduce to its leaders, a slice each
// (leaders.h); the leaders of a slice sum up across machines; the leaders spread the result on
// their machine.
#include <algorithm>
#include <cstddef>

#include "engine/comm/algorithms/direct.h"
#include "engine/comm/algorithms/functions.h"
#include "engine/comm/algorithms/leaders.h"
#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {
namespace {

// Long vectors go chunk by chunk: the storeys of one overlap with those of others.
constexpr std::size_t kLevelChunkBytes = 4 << 20;
constexpr std::size_t kMaxLevelChunks = 64;
constexpr std::size_t kLevelChunksAtOnce = 3;
constexpr int kPhasesOfChunk = 4;

/// Phases 0 and 1 of `link`.
Task storeys(Link link, const Leaders& leaders, Arguments a) {
  const Link local = link.subgroup(leaders.local, leaders.place, 0);
  if (local.size() > 1) co_await reduce_to_owners(local, leaders.each, a);
  if (leaders.is_leader()) {
    const std::vector<int> column = leaders.column();
    const Link across = link.subgroup(column, leaders.machine, 1);
    Layout machines{leaders.machine, leaders.machines(), {}, leaders.machine};
    for (int m = 0; m < machines.ranks; ++m) {
      machines.machines.push_back({m});
    }
    const auto starts = segments(a.count, leaders.each);
    const auto place = static_cast<std::size_t>(leaders.place);
    Arguments slice = a;
    slice.data = static_cast<std::byte*>(a.data) + starts[place] * a.element;
    slice.count = starts[place + 1] - starts[place];
    const Row& row = choose_row(Collective::allreduce, machines, slice.bytes());
    co_await row.run(across, machines, slice);
  }
  if (local.size() > 1) co_await spread_from_owners(local, leaders.each, a);
}

}  // namespace

Task allreduce_hierarchical(const Link& link, const Layout& layout, Arguments a) {
  const Leaders leaders(link, layout);
  const std::size_t chunks =
      std::clamp(a.bytes() / kLevelChunkBytes, std::size_t{1}, kMaxLevelChunks);
  const auto starts = segments(a.count, static_cast<int>(chunks));
  Together together(kLevelChunksAtOnce);
  for (std::size_t i = 0; i < chunks; ++i) {
    Arguments chunk = a;
    chunk.data = static_cast<std::byte*>(a.data) + starts[i] * a.element;
    chunk.count = starts[i + 1] - starts[i];
    together.add(storeys(link.phase(static_cast<int>(i) * kPhasesOfChunk), leaders, chunk));
  }
  co_await together;
}

}  // namespace thalweg::engine::comm
