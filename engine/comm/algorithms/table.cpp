#include "engine/comm/algorithms/table.h"

#include <algorithm>
#include <bit>

namespace thalweg::engine::comm {
namespace {

// Up to here the fewer steps of recursive doubling outweigh the ring's fewer bytes.
constexpr std::size_t kShort = 16 * 1024;
// The same between machines: their way through two kernels costs more.
constexpr std::size_t kShortAway = 256 * 1024;
constexpr std::size_t kShortAwayOfTwo = 512 * 1024;
// From more ranks, slices become short and too many senders meet at one receiver.
constexpr int kFewRanks = 16;

const Row kAllreduce[] = {
    {Collective::allreduce, "recursive_doubling", "short vectors: fewest steps",
     "ceil(log2 W), 2 more unless W = 2^k", "n ceil(log2 W)", Needs::nothing,
     allreduce_recursive_doubling},
    {Collective::allreduce, "ring", "long vectors: fewest bytes", "2 (W - 1)", "2 n (W - 1) / W",
     Needs::nothing, allreduce_ring},
    {Collective::allreduce, "segmented", "long vectors of few ranks over sockets", "2 per segment",
     "2 n (W - 1) / W", Needs::nothing, allreduce_segmented},
    {Collective::allreduce, "shared", "ranks of one machine", "2",
     "0: each rank reads 1/W of all vectors", Needs::shared_memory, allreduce_shared, true},
};
const Row kReduceScatter[] = {
    {Collective::reduce_scatter, "ring", "any length", "W - 1", "n (W - 1) / W", Needs::nothing,
     reduce_scatter_ring},
    {Collective::reduce_scatter, "shared", "ranks of one machine", "2", "0", Needs::shared_memory,
     reduce_scatter_shared, true},
};
const Row kAllgather[] = {
    {Collective::allgather, "ring", "any length", "W - 1", "n (W - 1) / W", Needs::nothing,
     allgather_ring},
    {Collective::allgather, "shared", "ranks of one machine", "2", "0", Needs::shared_memory,
     allgather_shared},
};
const Row kBroadcast[] = {
    {Collective::broadcast, "binomial", "any length", "ceil(log2 W)", "n ceil(log2 W) at the root",
     Needs::nothing, broadcast_binomial},
    {Collective::broadcast, "shared", "ranks of one machine", "2", "0", Needs::shared_memory,
     broadcast_shared},
};
const Row kAllToAll[] = {
    {Collective::all_to_all, "pairwise", "any length", "W - 1", "n (W - 1) / W", Needs::nothing,
     all_to_all_pairwise},
    {Collective::all_to_all, "shared", "ranks of one machine", "2", "0", Needs::shared_memory,
     all_to_all_shared},
};
const Row kBarrier[] = {
    {Collective::barrier, "dissemination", "", "ceil(log2 W)", "0", Needs::nothing,
     barrier_dissemination},
    {Collective::barrier, "shared", "ranks of one machine", "1", "0", Needs::shared_memory,
     barrier_shared},
};

}  // namespace

const char* name_of(Collective collective) {
  static constexpr const char* kNames[] = {"allreduce", "reduce_scatter", "allgather",
                                           "broadcast", "all_to_all",     "barrier"};
  return kNames[static_cast<int>(collective)];
}

std::span<const Row> rows_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return kAllreduce;
    case Collective::reduce_scatter:
      return kReduceScatter;
    case Collective::allgather:
      return kAllgather;
    case Collective::broadcast:
      return kBroadcast;
    case Collective::all_to_all:
      return kAllToAll;
    case Collective::barrier:
      return kBarrier;
  }
  return {};
}

const Row* find_row(Collective collective, std::string_view name) {
  for (const Row& row : rows_of(collective)) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::vector<std::string> names_of(Collective collective) {
  std::vector<std::string> names;
  for (const Row& row : rows_of(collective)) {
    names.emplace_back(row.name);
  }
  return names;
}

const Row& choose_row(Collective collective, const Layout& layout, std::size_t bytes) {
  if (layout.shares) return rows_of(collective).back();
  if (collective != Collective::allreduce) return rows_of(collective).front();
  const char* name = "ring";
  if (layout.one_machine()) {
    if (bytes <= kShort) name = "recursive_doubling";
  } else if (bytes <= (layout.ranks == 2 ? kShortAwayOfTwo : kShortAway)) {
    name = "recursive_doubling";
  } else if (layout.ranks <= kFewRanks) {
    name = "segmented";
  }
  return *find_row(collective, name);
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

}  // namespace thalweg::engine::comm
