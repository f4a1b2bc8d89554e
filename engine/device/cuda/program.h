// A graph compiled for a GPU.
#pragma once

#include <memory>
#include <vector>

#include "engine/device/cuda/plan.h"
#include "engine/device/device.h"

namespace thalweg::engine::cuda {

class CudaProgram final : public BasicProgram<float> {
 public:
  CudaProgram(gpu::Gpu& machine, const Graph& graph, int samples, const CompileOptions& options);

  const std::vector<ParameterInfo>& parameters() const override { return plan_.infos; }
  const std::vector<int>& ready_order() const override { return plan_.ready_order; }
  std::unique_ptr<BasicExecutor<float>> executor() const override;
  ExecutorMemory executor_memory() const override;
  /// `device` may be the GPU's memory or the host's.
  void to_plain(int number, const float* device, float* plain) const override;
  void from_plain(int number, const float* plain, float* device) const override;
  gpu::Gpu* gpu() const override { return &machine_; }
  std::vector<CallKind> library_calls() const override;
  KernelTimes measure_calls(const MeasureOptions& options) const override;

  /// What executors run, and of what; tests look at it.
  const Plan& plan() const { return plan_; }
  const Graph& graph() const { return graph_; }

 private:
  gpu::Gpu& machine_;
  Graph graph_;
  Plan plan_;
};

}  // namespace thalweg::engine::cuda
