// What modes share whose gradients are applied some steps after they were computed: a step whose
// sums are under way, what it told when they were there, and the update by all of it at once.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/sync/gradient_path.h"
#include "engine/sync/host_update.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

struct StepUnderWay {
  std::int64_t step = 0;
  bool stop = false;  ///< this rank's wish
  double compute_ms = 0;
  double optimizer_ms = 0;
};

/// Waits for the sums under way; gives what is known of their step. Collective.
StepOutcome wait_for_sums(GradientPath& path, const StepUnderWay& step);

/// The update of the parameters whose gradient is finite, by a whole gradient that is clipped as
/// SyncParts says. `finite`: by parameter.
void update_at_once(SyncParts& parts, HostUpdate& update, float* gradient,
                    const std::vector<bool>& finite, const StepContext& context);

/// Takes the oldest out; none is here where there is none.
StepOutcome take_outcome(std::deque<StepOutcome>& told);

}  // namespace thalweg::engine
