// The algorithms over messages, one per .cpp: for the table, and for algorithms made of others.
#pragma once

#include "engine/comm/algorithms/collective.h"

namespace thalweg::engine::comm {

Algorithm allreduce_recursive_doubling, allreduce_ring, allreduce_rabenseifner,
    allreduce_ring_pipelined, allreduce_segmented, allreduce_binomial, allreduce_double_tree,
    allreduce_direct, allreduce_2d, allreduce_hierarchical;
Algorithm reduce_scatter_ring, reduce_scatter_recursive_halving, reduce_scatter_direct;
Algorithm allgather_ring, allgather_recursive_doubling, allgather_bruck, allgather_direct;
Algorithm broadcast_binomial, broadcast_scatter_allgather, broadcast_chain;
Algorithm all_to_all_pairwise, all_to_all_bruck;
Algorithm barrier_dissemination;

}  // namespace thalweg::engine::comm
