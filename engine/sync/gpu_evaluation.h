// Samples judged on a GPU: while it computes one chunk, the host puts the next one together, as
// it is stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/data/batch_form.h"
#include "engine/nn/lane.h"
#include "engine/nn/model.h"
#include "engine/sync/gpu_augment.h"

namespace thalweg::engine {

/// For one thread. Allocates nothing after construction.
class GpuEvaluation {
 public:
  /// `samples`: those of a chunk, which is what the lane takes. Both must outlive it.
  GpuEvaluation(gpu::Gpu& machine, const Dataset& dataset, const LossPlan& loss, int samples);
  ~GpuEvaluation();
  GpuEvaluation(const GpuEvaluation&) = delete;
  GpuEvaluation& operator=(const GpuEvaluation&) = delete;

  using Tell = std::function<void(int chunk, const ShardResult& result)>;
  /// Lane::evaluate() of chunks [first, end) of `samples`, each with a call of tell(), in order;
  /// the last one may be smaller. `parameters` and `running` must be there already.
  void run(QueuedLane& lane, const float* parameters, const float* running,
           const std::vector<std::uint32_t>& samples, int first, int end, const Tell& tell);

  /// What it takes of the GPU's memory.
  static std::size_t bytes(const Dataset& dataset, int samples);

 private:
  static constexpr std::size_t kSlots = 2;
  struct Slot {
    gpu::Memory host, device, result;  ///< `result` on the host
    std::unique_ptr<gpu::Event> arrived, done;
    int chunk = -1;  ///< under way, or none
  };
  static BatchForm form_of(const Dataset& dataset, int samples);
  int fill(Slot& slot, const std::vector<std::uint32_t>& samples, int chunk) const;
  void put(Slot& slot, QueuedLane& lane, const float* parameters, const float* running);
  void settle(Slot& slot, const Tell& tell);

  const Dataset& dataset_;
  const LossPlan& loss_;
  const int samples_;
  const BatchForm form_;
  std::unique_ptr<gpu::Queue> queue_, copies_;
  std::unique_ptr<GpuAugment> augment_;  ///< where samples are stored as bytes
  gpu::Memory result_;
  Slot slots_[kSlots];
};

}  // namespace thalweg::engine
