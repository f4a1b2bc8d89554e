// The samples of each training step on their way from the loader to the sync mode.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/data/loader.h"
#include "engine/sync/mode.h"
#include "engine/train/attempt.h"

namespace thalweg::engine {

/// A step's batch, or, where the mode asks for samples, what it asks for. For one thread.
class StepSamples final : public SampleSource {
 public:
  explicit StepSamples(Attempt& attempt) : a_(attempt) { restart(); }
  /// For batches of another size.
  void restart() { loader_.emplace(*a_.dataset, a_.samples.training, a_.loader_plan()); }
  /// Of the attempt's next step; valid for it alone.
  StepInput input();
  /// Spent on waiting for samples since it was asked last.
  double take_wait_ms() { return std::exchange(wait_ms_, 0); }
  /// Loader::samples_of
  std::vector<std::uint32_t> of(std::int64_t step) const { return loader_->samples_of(step); }

  void want(const std::vector<std::int64_t>& shards) override { loader_->want(shards); }
  void next(StepInput& input) override;

 private:
  Attempt& a_;
  std::optional<Loader> loader_;
  double wait_ms_ = 0;
};

}  // namespace thalweg::engine
