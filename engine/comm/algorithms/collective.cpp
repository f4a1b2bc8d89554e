// What algorithms ask of layouts and segments, apart from the table of algorithms.
#include "engine/comm/algorithms/collective.h"

#include <bit>

namespace thalweg::engine::comm {

const char* name_of(Collective collective) {
  static constexpr const char* kNames[] = {"allreduce", "reduce_scatter", "allgather",
                                           "broadcast", "all_to_all",     "barrier"};
  return kNames[static_cast<int>(collective)];
}

bool Layout::allows(Needs needs) const {
  switch (needs) {
    case Needs::nothing:
      return true;
    case Needs::power_of_two:
      return std::has_single_bit(static_cast<unsigned>(ranks));
    case Needs::machines:
      return machines.size() > 1 && static_cast<std::size_t>(ranks) > machines.size();
    case Needs::shared_memory:
      return one_machine();
  }
  return false;
}

std::vector<std::size_t> segments(std::size_t count, int ranks) {
  std::vector<std::size_t> starts;
  for (int r = 0; r <= ranks; ++r) {
    starts.push_back(first_of(count, ranks, r));
  }
  return starts;
}

std::size_t chunk_bytes(const Layout& layout) {
  // Between machines a chunk must keep the connection busy for as long as an answer takes; on one
  // it should still be in the cache when it is reduced.
  return layout.one_machine() ? 128 * 1024 : 512 * 1024;
}

}  // namespace thalweg::engine::comm
