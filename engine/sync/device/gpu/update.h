// What steps of every kind have on a GPU beside their shards: the optimizer, and batch norm's
// running statistics.
#pragma once

#include <memory>
#include <string>

#include "engine/optim/on_gpu.h"
#include "engine/sync/device/flat_vector.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {

/// For one thread and streams that wait for each other.
class GpuUpdate {
 public:
  explicit GpuUpdate(const SyncParts& parts);
  OptimizerOnGpu& optimizer() { return *optimizer_; }

  /// Puts the update of the replica's running statistics into the stream: `sum` over
  /// `micro_batches`.
  void blend_statistics(gpu::Stream& stream, const float* sum, int micro_batches);
  /// SyncMode::evaluated, after all that stands in the stream.
  const float* evaluated(gpu::Stream& stream);
  /// SyncMode::note: the exchange's and the optimizer's.
  std::string note(const std::string& exchange) const;

 private:
  SyncParts p_;
  std::unique_ptr<OptimizerOnGpu> optimizer_;
  FlatVector momenta_;
};

}  // namespace thalweg::engine
