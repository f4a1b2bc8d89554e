// Runs a plan: the memory of one shard under way on a GPU.
#pragma once

#include <array>
#include <vector>

#include "engine/device/cuda/plan.h"
#include "engine/tensor/batch_layout.h"
#include "engine/tensor/parameter.h"

namespace thalweg::engine::cuda {

/// As a Lane it copies what it needs, computes and waits; as a QueuedLane it does neither. Nothing
/// is allocated after construction.
class CudaLane final : public BasicLane<float>, public QueuedLane {
 public:
  /// `plan`, `graph` and `infos` must outlive the lane.
  CudaLane(gpu::Gpu& machine, const Plan& plan, const Graph& graph,
           const std::vector<ParameterInfo>& infos);

  /// What batches and results take on the GPU, before there is a lane.
  static std::size_t staging_bytes(const Plan& plan, const Graph& graph);

  ShardResult train(const float* parameters, const Batch& batch, float scale, float* gradients,
                    float* statistics, const ReadyFunction& ready) override;
  ShardResult evaluate(const float* parameters, const float* running, const Batch& batch) override;
  QueuedLane* queued() override { return this; }

  void take_parameters(gpu::Queue& queue, const float* parameters) override;
  gpu::Bf16* narrow_parameters() override { return static_cast<gpu::Bf16*>(weights_.data()); }
  const float* parameters_taken() const override { return taken_; }
  void train(gpu::Queue& queue, const QueuedShard& shard, const ReadyFunction& ready) override;
  void evaluate(gpu::Queue& queue, const QueuedShard& shard) override;

 private:
  /// What a batch brings, in pinned memory and on the GPU.
  struct Staged {
    BatchLayout layout;  ///< behind it stands the result
    gpu::Memory host, device;
    std::size_t result() const { return layout.bytes(); }
    std::size_t bytes() const { return result() + (1 + most_sums) * sizeof(double); }
    std::byte* on_host(std::size_t at) const { return static_cast<std::byte*>(host.data()) + at; }
    std::byte* on_gpu(std::size_t at) const { return static_cast<std::byte*>(device.data()) + at; }
  };

  static Staged place_staged(const Plan& plan, const Graph& graph);
  /// Copies the batch; all of the shard but the flat vectors.
  QueuedShard stage(const Batch& batch, float scale);
  ShardResult read_result();
  void bind(const QueuedShard& shard);
  Frame frame(gpu::Queue& queue, const QueuedShard& shard) const;

  const Plan& plan_;
  const Graph& graph_;
  const std::size_t floats_;  ///< of the flat vectors
  gpu::Memory arena_, weights_, constants_;
  Staged staged_;
  const float* taken_ = nullptr;  ///< of weights_
  std::unique_ptr<gpu::Queue> queue_;
  std::vector<std::byte*> pointers_;  ///< by TensorId
  std::vector<std::byte*> again_;     ///< the same in backward
};

}  // namespace thalweg::engine::cuda
