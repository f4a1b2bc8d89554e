// What late steps of all devices have in common.
#include "engine/sync/device/late_step.h"

#include <utility>

namespace thalweg::engine {

std::unique_ptr<LateStep> make_late_step(const SyncParts& parts, const SyncOptions& options,
                                         const LateOptions& late) {
  return parts.model.gpu() != nullptr ? late_step_on_gpu(parts, options, late)
                                      : late_step_on_host(parts, options, late);
}

/// The host has a gradient of each shard in every set and a pass that is to be added; a GPU copies
/// of what is summed, sums of passes, and one gradient in every set.
std::int64_t late_vectors(const Sharding& sharding, int sets, bool accumulates, bool on_gpu) {
  const std::int64_t mine = sharding.mine(), more = accumulates ? mine : 0;
  return (on_gpu ? mine + sets : (sets - 1) * mine) + more;
}

std::optional<StepOutcome> take_outcome(std::deque<StepOutcome>& told) {
  if (told.empty()) return {};
  StepOutcome outcome = std::move(told.front());
  told.pop_front();
  return outcome;
}

}  // namespace thalweg::engine
