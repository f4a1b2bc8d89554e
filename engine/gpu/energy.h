// How much energy a GPU has taken, by the driver's management library (NVML, libnvidia-ml).
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace thalweg::engine::gpu {

/// Of everything that runs on the GPU. Movable; for one thread.
class GpuEnergy {
 public:
  /// No GPU: joules() tells nothing.
  GpuEnergy() = default;
  /// `uuid` as in Info. NVML that is missing, or that has no counter (before Volta; parts of a GPU,
  /// MIG), counts as none. `library`: of the driver.
  explicit GpuEnergy(const std::string& uuid, const std::string& library = "libnvidia-ml.so.1");
  /// Of a rank whose GPU another rank tells of: 0 joules.
  static GpuEnergy told_elsewhere();
  /// Joules since construction; nothing where the GPU does not tell.
  std::optional<double> joules() const;

 private:
  struct Counter;
  std::shared_ptr<const Counter> counter_;
  double first_ = 0;
  bool elsewhere_ = false;
};

}  // namespace thalweg::engine::gpu
