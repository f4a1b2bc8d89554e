#include "engine/sync/device/step_device.h"

#include "engine/sync/micro_batches.h"

namespace thalweg::engine {

std::unique_ptr<StepDevice> make_step_device(const SyncParts& parts, const SyncOptions& options,
                                             float scale, BucketSum* sum) {
  return (parts.model.gpu() != nullptr ? step_on_gpu : step_on_host)(parts, options, scale, sum);
}

void finish_step(StepDevice& device, const SyncParts& parts, const StepContext& context) {
  if (parts.clip_value > 0) device.clip_values(parts.clip_value);
  if (parts.clip_norm > 0) device.clip_norm(parts.clip_norm);
  device.update(context);
  device.report();
}

void tell_sums(const StepReport& report, const SyncParts& parts, bool stop, StepOutcome& outcome) {
  outcome.loss = static_cast<double>(report.stats[stat_loss]) / parts.sharding.global_batch;
  // A captured step of one rank has no place for it.
  outcome.stop = parts.group.size() > 1 ? report.stats[stat_stop] > 0 : stop;
}

std::string first_not_finite(const Model& model,
                             const std::function<bool(std::size_t)>& is_finite) {
  for (const int number : model.ready_order())
    if (!is_finite(static_cast<std::size_t>(number)))
      return model.parameters()[static_cast<std::size_t>(number)].name;
  return {};
}

}  // namespace thalweg::engine
