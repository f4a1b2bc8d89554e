// Who does what in a mode with parameter servers: which ranks make gradients, and which have which
// part of the parameters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/nn/model.h"

namespace thalweg::engine {

/// Whole parameters that are contiguous in the flat memory.
struct ParameterRange {
  int first = 0, end = 0;  ///< numbers of parameters
  std::size_t begin = 0, count = 0;
};

/// Which parameters each of `servers` servers has: as even as whole parameters allow, perhaps none.
std::vector<ParameterRange> share_parameters(const std::vector<ParameterInfo>& infos, int servers);

/// Ranks that make one gradient together, ascending.
using RankGroup = std::vector<int>;
/// `groups` of them, contiguous, as even as that goes.
std::vector<RankGroup> make_rank_groups(int ranks, int groups);
std::size_t rank_group_of(const std::vector<RankGroup>& groups, int rank);
/// Who of the group sends a server its part of their gradient: the server itself, where it is one
/// of them.
int pusher_of(const RankGroup& group, int server);

/// How many of `ranks` make gradients where the last `servers` only serve. Throws
/// std::invalid_argument, remedy included, where none is left.
int workers_of(int ranks, int servers);

/// Who owns which shards, by rank, then `shards` (Group::own_shards): the workers have equal parts,
/// the last `servers` ranks none.
std::vector<int> shards_of_workers(int ranks, int servers, int shards);

/// For the user: which ranks only serve.
std::string servers_text(int ranks, int servers);

struct ServerRoles {
  /// `groups` of workers; `servers`: of the last ranks, which are no workers; 0: every rank is
  /// both.
  ServerRoles(const std::vector<ParameterInfo>& infos, int ranks, int groups, int servers);

  /// Whether gradients go to this rank: where it has parameters or is there for nothing else, and
  /// to the teller.
  bool serves(int rank) const {
    if (dedicated) return rank >= teller;
    return rank == teller || ranges[static_cast<std::size_t>(rank)].count > 0;
  }
  bool works(int rank) const { return !dedicated || rank < teller; }

  bool dedicated = false;              ///< servers are no workers
  int teller = 0;                      ///< the server that says when all end: the first one
  std::vector<RankGroup> groups;       ///< of the workers
  std::vector<ParameterRange> ranges;  ///< by rank
};

}  // namespace thalweg::engine
