// Cutting single elements is left to the update, which has them in the cache, but where the norm
// has to be taken of what is left.
#include "engine/sync/late_step.h"

#include <utility>

#include "engine/sync/clip.h"

namespace thalweg::engine {

StepOutcome wait_for_sums(GradientPath& path, const StepUnderWay& step) {
  StepOutcome outcome;
  outcome.step = step.step;
  outcome.compute_ms = step.compute_ms;
  outcome.optimizer_ms = step.optimizer_ms;
  path.hurry();
  path.wait_for_all();
  path.finish(outcome);
  return outcome;
}

void update_at_once(SyncParts& parts, HostUpdate& update, float* gradient,
                    const std::vector<bool>& finite, const StepContext& context) {
  const std::size_t floats = parts.model.parameter_floats();
  const OptimizerMemory<float> memory = parts.replica.memory(gradient);
  double cut = parts.clip_value;
  if (parts.clip_norm > 0) {
    if (cut > 0) clip_values(gradient, floats, std::exchange(cut, 0));
    clip(gradient, floats, parts.clip_norm);
  }
  for (std::size_t i = 0; i < finite.size(); ++i)
    if (finite[i]) update.add(static_cast<int>(i));
  update.run(context, memory, cut);
  parts.optimizer.finish(context, memory);
}

StepOutcome take_outcome(std::deque<StepOutcome>& told) {
  StepOutcome outcome;
  outcome.here = !told.empty();
  if (!outcome.here) return outcome;
  outcome = std::move(told.front());
  told.pop_front();
  return outcome;
}

}  // namespace thalweg::engine
