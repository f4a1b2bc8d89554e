// Whether the ranks still have the same numbers while they train, and who has not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/replica.h"

namespace thalweg::engine {

/// Replicas that should be equal and are not.
struct Divergence {
  int rank = 0;        ///< the first that differs from most
  int ranks = 1;       ///< how many differ from most
  int reference = 0;   ///< the first of those that agree
  std::string tensor;  ///< "fc1.weight", "state 2 of fc1.weight", "gradient of fc1.weight"
  /// Where it is the gradient: its norm on both; 0 otherwise.
  double norm = 0, reference_norm = 0;
};

/// Compares hashes of every tensor of the replica, and of `gradient` (in the host's memory; null:
/// not looked at). Nothing where all are equal, which costs one small message. The same on every
/// rank. Collective.
std::optional<Divergence> find_divergence(comm::Group& group, const Model& model,
                                          const Replica& replica, const float* gradient = nullptr);

/// "fc1.weight differs: rank 2 on n1 has other numbers than rank 0"
std::string describe(const Divergence& found, const comm::Group& group);

/// Every rank has the replica of rank `from`, but for weights to validate. Collective.
void broadcast_replica(comm::Group& group, Replica& replica, int from);

}  // namespace thalweg::engine
