// A graph compiled for the cpu device.
#pragma once

#include <memory>
#include <vector>

#include "engine/device/cpu/plan.h"
#include "engine/device/device.h"

namespace thalweg::engine::cpu {

class CpuProgram final : public BasicProgram<float> {
 public:
  CpuProgram(const Graph& graph, int samples, Precision precision = Precision::fp32);

  const std::vector<ParameterInfo>& parameters() const override { return plan_.infos; }
  const std::vector<int>& ready_order() const override { return plan_.ready_order; }
  std::unique_ptr<BasicExecutor<float>> executor() const override;
  ExecutorMemory executor_memory() const override;
  void to_plain(int number, const float* device, float* plain) const override;
  void from_plain(int number, const float* plain, float* device) const override;

  /// What executors run; tests look at it.
  const Plan& plan() const { return plan_; }

 private:
  /// visit(position in the device's rows, position in the plain rows)
  template <class Visit>
  void for_each_weight(int number, Visit visit) const;

  Graph graph_;
  Plan plan_;
};

}  // namespace thalweg::engine::cpu
