// Samples of a dataset evaluated, a chunk at a time. On a GPU the host puts the next chunk together
// meanwhile, as it is stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/data/batch_form.h"
#include "engine/nn/executor.h"
#include "engine/nn/model.h"
#include "engine/sync/device/gpu/augment.h"
#include "engine/sync/executor_pool.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine {

/// For one thread, which must not use the executors meanwhile. Memory for chunks is taken once.
class Evaluation {
 public:
  /// `samples`: those of a chunk, which is what an executor takes. The references must outlive it.
  Evaluation(const Model& model, const Dataset& dataset, ExecutorPool& executors, int samples);
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  int samples() const { return samples_; }

  using Tell = std::function<void(int chunk, const ShardResult& result)>;
  /// Executor::evaluate() of chunks [first, end) of `samples`, each with a call of tell(): in order
  /// on one executor, in several threads at once on several. `parameters` and `running` are the
  /// device's memory. Throws std::invalid_argument on a label that is no class.
  void run(const float* parameters, const float* running, std::span<const std::uint32_t> samples,
           int first, int end, const Tell& tell);

  using Choose = std::function<std::vector<std::uint32_t>(int chunk)>;
  using TellStatistics = std::function<void(int chunk, const std::vector<float>& statistics)>;
  /// What training passes over chunks [first, end) measure: Model::statistics() numbers each, told
  /// as by run(). choose(): the samples of a chunk, a whole one.
  void measure(const float* parameters, int first, int end, const Choose& choose,
               const TellStatistics& tell);

  /// What it takes of a GPU's memory.
  static std::size_t gpu_bytes(const Dataset& dataset, int samples);

 private:
  static constexpr std::size_t kSlotsOfGpu = 2;
  /// A chunk on its way. On a GPU the host's memory is pinned.
  struct Slot {
    Buffer buffer;
    gpu::Memory pinned, device, told;  ///< `told`: the result, on the host
    std::unique_ptr<gpu::Event> arrived, done;
    ShardResult result;
    int chunk = -1;  ///< under way, or none
  };
  /// Of an executor. The host has no streams: what is to be done is done at once.
  struct Workspace {
    std::vector<Slot> slots;
    std::size_t turn = 0;
    std::unique_ptr<gpu::Stream> stream, copies;
    std::unique_ptr<GpuAugment> augment;  ///< where samples are stored as bytes
    gpu::Memory result;
    Slot& next_slot() { return slots[turn++ % slots.size()]; }
  };
  Workspace make_workspace() const;
  void fill(std::byte* memory, std::span<const std::uint32_t> samples) const;
  Shard send(Workspace& workspace, Slot& slot, std::span<const std::uint32_t> samples,
             std::uint64_t first_sample, float scale) const;
  static void settle(Slot& slot, const Tell& tell);

  const Model& model_;
  const Dataset& dataset_;
  ExecutorPool& executors_;
  gpu::Gpu* const machine_;  ///< null: the host
  const int samples_;
  const BatchForm form_;
  std::vector<Workspace> workspaces_;  ///< by executor
};

}  // namespace thalweg::engine
