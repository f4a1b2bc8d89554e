#include "engine/train/step_samples.h"

#include "engine/device/layer.h"
#include "engine/sync/overlap.h"

namespace thalweg::engine {

StepInput StepSamples::input() {
  const SampleForm& form = a_.dataset->form();
  StepInput input;
  input.context = a_.step_context();
  input.sample_floats = input_floats(form);
  input.sample_labels = static_cast<std::size_t>(form.labels);
  input.sample_targets = static_cast<std::size_t>(form.targets);
  input.stop = a_.in.stop.requested() || a_.in.fenced();
  if (a_.on_demand)
    input.source = this;
  else
    next(input);
  return input;
}

void StepSamples::next(StepInput& input) {
  const Stopwatch watch;
  const PreparedBatch& batch = loader_->next();
  wait_ms_ += watch.ms();
  a_.samples_taken += std::int64_t{a_.sharding.mine()} * a_.sharding.shard_batch();
  if (a_.batches) input.memory = batch.memory;
  input.inputs = batch.inputs.data();
  input.labels = batch.labels.data();
  input.targets = batch.targets.data();
  if (batch.shares_b.empty() || a_.dataset->form().labels == 0) return;
  input.labels_b = batch.labels_b.data();
  input.shares_b = batch.shares_b.data();
}

}  // namespace thalweg::engine
