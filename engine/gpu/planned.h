// A GPU of which only the memory's size is known: models are compiled for it to plan their memory
// where no GPU is, as on login nodes. Nothing can be computed on it.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

/// As long as it lives chosen_gpu() is a GPU of `bytes`; gpu_count() stays what it is. Its
/// library's calls need no workspace, so that a plan is what a real GPU takes without. Whoever
/// asks it for memory or work gets a GpuError. One at a time; models compiled for it must not
/// outlive it.
class PlannedGpu {
 public:
  explicit PlannedGpu(std::size_t bytes);
  ~PlannedGpu();
  PlannedGpu(const PlannedGpu&) = delete;
  PlannedGpu& operator=(const PlannedGpu&) = delete;

 private:
  std::unique_ptr<Gpu> gpu_;
};

}  // namespace thalweg::engine::gpu
