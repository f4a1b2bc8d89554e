#include "engine/comm/algorithms/table.h"

#include <algorithm>

#include "engine/comm/algorithms/functions.h"
#include "engine/comm/algorithms/shared/collectives.h"

namespace thalweg::engine::comm {
namespace {

const Row kAllreduce[] = {
    {Collective::allreduce, "recursive_doubling", "short vectors: fewest steps",
     "ceil(log2 W), 2 more unless W = 2^k", "n ceil(log2 W)", Needs::nothing,
     allreduce_recursive_doubling},
    {Collective::allreduce, "ring", "long vectors: fewest bytes", "2 (W - 1)", "2 n (W - 1) / W",
     Needs::nothing, allreduce_ring},
    {Collective::allreduce, "segmented", "long vectors of few ranks over sockets", "2 per segment",
     "2 n (W - 1) / W", Needs::nothing, allreduce_segmented},
    {Collective::allreduce, "ring_pipelined", "long vectors: additions behind transfers",
     "2 (W - 1), in chunks", "2 n (W - 1) / W", Needs::nothing, allreduce_ring_pipelined},
    {Collective::allreduce, "rabenseifner", "medium vectors of many ranks",
     "2 log2 W, 4 more unless W = 2^k", "2 n (W - 1) / W, n more unless W = 2^k", Needs::nothing,
     allreduce_rabenseifner},
    {Collective::allreduce, "direct", "few ranks", "2", "2 n (W - 1) / W", Needs::nothing,
     allreduce_direct},
    {Collective::allreduce, "binomial", "comparison", "2 ceil(log2 W)",
     "n, n ceil(log2 W) at the root", Needs::nothing, allreduce_binomial},
    {Collective::allreduce, "double_tree", "medium vectors of very many ranks",
     "4 ceil(log2 W), in chunks", "2 n", Needs::nothing, allreduce_double_tree},
    {Collective::allreduce, "2d", "long vectors of very many ranks, W = R C",
     "2 (R - 1) + 2 (C - 1)", "2 n (W - 1) / W", Needs::nothing, allreduce_2d},
    {Collective::allreduce, "hierarchical", "several ranks on several machines",
     "2 on the machine, and those between L machines", "of 1/L of the vector between machines",
     Needs::machines, allreduce_hierarchical},
    {Collective::allreduce, "shared", "ranks of one machine", "2",
     "0: each rank reads 1/W of all vectors", Needs::shared_memory, allreduce_shared, true},
};
const Row kReduceScatter[] = {
    {Collective::reduce_scatter, "ring", "long vectors", "W - 1", "n (W - 1) / W", Needs::nothing,
     reduce_scatter_ring},
    {Collective::reduce_scatter, "recursive_halving", "short vectors",
     "log2 W, 2 more unless W = 2^k", "n (W - 1) / W, n more unless W = 2^k", Needs::nothing,
     reduce_scatter_recursive_halving},
    {Collective::reduce_scatter, "direct", "few ranks", "1", "n (W - 1) / W", Needs::nothing,
     reduce_scatter_direct},
    {Collective::reduce_scatter, "shared", "ranks of one machine", "2", "0", Needs::shared_memory,
     reduce_scatter_shared, true},
};
const Row kAllgather[] = {
    {Collective::allgather, "ring", "long vectors", "W - 1", "n (W - 1) / W", Needs::nothing,
     allgather_ring},
    {Collective::allgather, "recursive_doubling", "short vectors", "log2 W, 2 more unless W = 2^k",
     "n (W - 1) / W, n more unless W = 2^k", Needs::nothing, allgather_recursive_doubling},
    {Collective::allgather, "bruck", "short vectors of any W", "ceil(log2 W)", "n (W - 1) / W",
     Needs::nothing, allgather_bruck},
    {Collective::allgather, "direct", "few ranks", "1", "n (W - 1) / W", Needs::nothing,
     allgather_direct},
    {Collective::allgather, "shared", "ranks of one machine", "2", "0", Needs::shared_memory,
     allgather_shared},
};
const Row kBroadcast[] = {
    {Collective::broadcast, "binomial", "short vectors", "ceil(log2 W)",
     "n ceil(log2 W) at the root", Needs::nothing, broadcast_binomial},
    {Collective::broadcast, "scatter_allgather", "long vectors", "ceil(log2 W) + W - 1",
     "2 n (W - 1) / W at the root", Needs::nothing, broadcast_scatter_allgather},
    {Collective::broadcast, "chain", "very long vectors", "W - 1, in chunks", "n", Needs::nothing,
     broadcast_chain},
    {Collective::broadcast, "shared", "ranks of one machine", "2", "0", Needs::shared_memory,
     broadcast_shared},
};
const Row kAllToAll[] = {
    {Collective::all_to_all, "pairwise", "long blocks", "W - 1", "n (W - 1) / W", Needs::nothing,
     all_to_all_pairwise},
    {Collective::all_to_all, "bruck", "short blocks", "ceil(log2 W)", "n / 2 ceil(log2 W)",
     Needs::nothing, all_to_all_bruck},
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

}  // namespace thalweg::engine::comm
