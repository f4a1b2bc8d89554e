// Runs a plan: the memory of one shard under way on a GPU.
#pragma once

#include <vector>

#include "engine/device/cuda/plan.h"
#include "engine/tensor/parameter.h"

namespace thalweg::engine::cuda {

/// Nothing is allocated after construction.
class CudaExecutor final : public BasicExecutor<float> {
 public:
  /// `plan` must outlive the executor.
  CudaExecutor(gpu::Gpu& machine, const Plan& plan, const std::vector<ParameterInfo>& infos);

  void take_parameters(gpu::Stream& stream, const float* parameters) override;
  gpu::Bf16* narrow_parameters() override { return static_cast<gpu::Bf16*>(weights_.data()); }
  const float* parameters_taken() const override { return taken_; }
  void train(gpu::Stream* stream, const Shard& shard, const ReadyFunction& ready) override;
  void evaluate(gpu::Stream* stream, const Shard& shard) override;

 private:
  void bind(const Shard& shard);
  Frame frame(gpu::Stream& stream, const Shard& shard) const;

  const Plan& plan_;
  const std::size_t floats_;  ///< of the flat vectors
  gpu::Memory arena_, weights_, constants_;
  const float* taken_ = nullptr;      ///< of weights_
  std::vector<std::byte*> pointers_;  ///< by TensorId
  std::vector<std::byte*> again_;     ///< the same in backward
};

}  // namespace thalweg::engine::cuda
