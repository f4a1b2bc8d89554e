// Elastic trials (resources.nodes as a range): how many nodes the next attempt takes, and why an
// attempt has others than the one before; how often nodes fail. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/state/state.h"

namespace thalweg::daemon {

/// The nodes of an attempt and who set them.
struct AttemptSize {
  int nodes = 1;        ///< 0 = there is no room now
  std::string offer{};  ///< who has no more; empty where it is all that the trial may take
};

/// The most nodes that fit: `limit` is what the sweep's limits leave (below 0: as many as it
/// wants), `has_room` the backend's word.
AttemptSize size_of_next(const jobspec::Resources& shape, std::int64_t limit,
                         const std::function<bool(const jobspec::Resources&)>& has_room);

/// "8 -> 3 nodes: the attempt before was lost (node failure); the backend gave 3 of 2 to 8"; empty
/// where the trial is not elastic, or nothing changed.
std::string size_reason(const jobspec::Resources& shape, const TrialState& trial, int nodes,
                        std::string_view offer);

/// Seconds between failures of one node of the backend: the node-seconds of its attempts for each
/// that was lost or failed, as if there had been one failure in 1000 hours before.
double node_failure_s(const State& state, std::string_view backend);

}  // namespace thalweg::daemon
