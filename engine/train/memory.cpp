#include "engine/train/memory.h"

#include <stdexcept>

#include "engine/device/executor.h"
#include "engine/device/input_shape.h"
#include "engine/sync/device/evaluation.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/micro_batches.h"
#include "engine/train/factory.h"
#include "jobspec/value.h"

namespace thalweg::engine {

BatchForm gpu_batches(const BatchSource& source, const Sharding& sharding) {
  return gpu_batches(source.dataset, source.augmenter.idle() ? nullptr : &source.augmenter,
                     source.mixer.idle() ? nullptr : &source.mixer,
                     static_cast<std::size_t>(sharding.mine() * sharding.micro_batches),
                     static_cast<std::size_t>(sharding.micro_batch()), sizeof(ShardKey));
}

MemoryNeeds memory_needs(const Model& model, const Optimizer<float>& optimizer,
                         const BatchSource& source, const Sharding& sharding, int executors) {
  const std::size_t vector = model.parameter_floats() * sizeof(float);
  const auto several = static_cast<std::size_t>(executors);
  const auto mine = static_cast<std::size_t>(sharding.mine());
  // Micro-batches are added up pairwise: 1, 2, 4 ... of them stand beside each other.
  const std::size_t sums = spare_sums(sharding.micro_batches);
  const ExecutorMemory executor = model.executor_memory();
  MemoryNeeds needs;
  needs.parameters = vector;
  needs.optimizer = vector * static_cast<std::size_t>(optimizer.states()) +
                    (optimizer.has_eval_weights() ? vector : 0) + optimizer.own() * sizeof(float);
  needs.gradients = vector * (mine + several * sums);
  needs.weights = several * executor.weights;
  needs.activations = several * executor.activations;
  needs.workspace = several * executor.workspace;
  needs.staging = several * executor.staging;
  if (model.gpu() == nullptr) return needs;
  const BatchForm batches = gpu_batches(source, sharding);
  needs.staging += gpu_batch_bytes(batches, sharding);
  needs.staging += Evaluation::gpu_bytes(source.dataset, sharding.micro_batch());
  return needs;
}

void require_memory(const Factory& factory, const Settings& settings, const InputShape& input,
                    const Model& model, const Optimizer<float>& optimizer,
                    const BatchSource& source, const Sharding& sharding) {
  gpu::Gpu* const machine = model.gpu();
  if (machine == nullptr) return;
  const ShardSize wanted{sharding.micro_batch(), sharding.micro_batches, settings.recompute};
  const auto plan = [&](const ShardSize& size) {
    Sharding other = sharding;
    other.micro_batches = size.micro_batches;
    other.global_batch = size.samples * size.micro_batches * sharding.shards;
    const bool same = size.samples == wanted.samples && size.recompute == wanted.recompute;
    if (same) return memory_needs(model, optimizer, source, other, 1);
    Settings changed = settings;
    changed.recompute = size.recompute;
    const auto planned = factory.model(input, size.samples, changed);
    return memory_needs(*planned, optimizer, source, other, 1);
  };
  const std::string refusal =
      refuse_memory(wanted, sharding.shards, machine->free_bytes(), machine->info().name, plan);
  if (!refusal.empty()) throw std::invalid_argument(refusal);
}

}  // namespace thalweg::engine
