// What the ranks of a simulation (engine/simulate) share, all of them being in one process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/nn/executor.h"
#include "engine/sync/executor_pool.h"
#include "engine/sync/pass_time.h"
#include "engine/train/factory.h"

namespace thalweg::engine {

/// Made by the first rank that asks; one at a time does. A rank has its weights, states and
/// gradients to itself, and nothing else. Must outlive the attempts.
class SharedRanks {
 public:
  std::shared_ptr<Dataset> dataset(const Factory& factory);
  /// Of a training step.
  double flops_per_sample(const Factory& factory);
  std::shared_ptr<Model> model(const Factory& factory, const InputShape& input, int samples,
                               const Settings& with);
  std::unique_ptr<ExecutorPool> executors();

  // To be set before the first attempt:
  std::string label;              ///< what is simulated, for records
  double seconds_per_sample = 0;  ///< of forward and backward
  PassTime pass_time;             ///< once there is a model

 private:
  std::shared_ptr<Dataset> dataset_;
  std::shared_ptr<Model> model_;
  int samples_ = 0;  ///< of model_
  std::unique_ptr<Executor> executor_;
  std::uint64_t rounds_ = 0;
};

}  // namespace thalweg::engine
