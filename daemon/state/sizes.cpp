// An attempt takes what there is: waiting for more nodes would cost what the missing ones could not
// make up for, and the bits of a curve do not depend on them.
#include "daemon/state/sizes.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"

namespace thalweg::daemon {

AttemptSize size_of_next(const jobspec::Resources& shape, std::int64_t limit,
                         const std::function<bool(const jobspec::Resources&)>& has_room) {
  AttemptSize size{shape.nodes};
  if (shape.elastic() && limit >= 0 && limit < shape.nodes) {
    size.nodes = std::max(shape.min_nodes, static_cast<int>(limit));
    size.offer = "limits.max_nodes_in_flight leaves";
  }
  while (!has_room(shape.at_most(size.nodes))) {
    if (size.nodes <= shape.required_nodes()) return {0};
    --size.nodes;
    size.offer = "the backend has room for";
  }
  return size;
}

std::string size_reason(const jobspec::Resources& shape, const TrialState& trial, int nodes,
                        std::string_view offer) {
  if (!shape.elastic()) return "";
  const int before = trial.nodes;
  const bool all = nodes >= shape.nodes;
  if (before == nodes || (before == 0 && all)) return "";
  const std::string now =
      all ? "all are there"
          : fmt::format("{} {} of {} to {}", offer, nodes, shape.min_nodes, shape.nodes);
  const std::string count = count_of(nodes, "node");
  if (before == 0) return fmt::format("{}: {}", count, now);
  if (trial.last == EndCause::none) return fmt::format("{} -> {}: {}", before, count, now);
  return fmt::format("{} -> {}: the attempt before {} {}{}; {}", before, count,
                     trial.last == EndCause::failed ? "has" : "was", name_of(trial.last),
                     trial.reason.empty() ? "" : " (" + trial.reason + ")", now);
}

double node_failure_s(const State& state, std::string_view backend) {
  // Few records say little: they move this only slowly.
  double seconds = 1000 * 3600;
  std::int64_t failures = 1;
  for (const auto& [id, sweep] : state.sweeps) {
    if (sweep.backend != backend) continue;
    seconds += sweep.node_seconds;
    failures += sweep.losses;
  }
  return seconds / static_cast<double>(failures);
}

}  // namespace thalweg::daemon
