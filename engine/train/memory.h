// What a rank of a trial takes of its device's memory, planned before any of it is taken.
#pragma once

#include <string>

#include "engine/data/batch_form.h"
#include "engine/device/memory_needs.h"
#include "engine/nn/model.h"
#include "engine/optim/optimizer.h"
#include "engine/sync/mode.h"
#include "engine/train/options.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

class Factory;

/// What batches are made of.
struct BatchSource {
  const Dataset& dataset;
  const Augmenter& augmenter;
  const Mixer& mixer;
};
/// Those that a rank's GPU gets.
BatchForm gpu_batches(const BatchSource& source, const Sharding& sharding);

/// `executors` shards are under way at once. `staging` and `workspace` only where the model's
/// device plans its memory (ExecutorMemory).
MemoryNeeds memory_needs(const Model& model, const Optimizer<float>& optimizer,
                         const BatchSource& source, const Sharding& sharding, int executors);

/// Throws std::invalid_argument, with the table and what fits, where the run takes more than is
/// free of the model's GPU. Nothing is allocated there.
void require_memory(const Factory& factory, const Settings& settings, const InputShape& input,
                    const Model& model, const Optimizer<float>& optimizer,
                    const BatchSource& source, const Sharding& sharding);

}  // namespace thalweg::engine
