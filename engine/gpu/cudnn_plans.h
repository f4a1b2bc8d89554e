// From an operation graph of cuDNN to what runs it. For this room only.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/gpu/cudnn_graph.h"
#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

/// What plans are made for: a GPU of this process, or one that is only described, for which plans
/// can be made but not run.
class CudnnTarget {
 public:
  /// GPU `number`; made at the first call, for the life of the process. Throws GpuError.
  static CudnnTarget& of_gpu(int number);
  /// By cuDNN's JSON of a GPU's properties.
  explicit CudnnTarget(const std::string& properties);

  cudnnHandle_t handle() const { return handle_; }
  const std::optional<CudnnDescriptor>& properties() const { return properties_; }
  /// A handle is for one thread at a time: held while it is used.
  std::mutex& mutex() { return mutex_; }
  /// Makes the GPU the calling thread's.
  void use() const;

 private:
  explicit CudnnTarget(int number);
  int number_ = 0;
  cudnnHandle_t handle_ = nullptr;
  std::optional<CudnnDescriptor> properties_;
  std::mutex mutex_;
};

struct CudnnRules {
  bool tensor_cores = true;  ///< where false: 32-bit floats are multiplied as they are
};

/// The ways in which a graph can be run: deterministic ones only, with all sums in floats. The
/// first ones are made when they are asked for, all when they are counted. Thread-safe.
class CudnnPlans {
 public:
  CudnnPlans(CudnnTarget& target, CudnnGraph graph, CudnnRules rules);

  /// Whether no way can be run.
  bool none() const;
  /// At most 8. May take seconds at the first call: some are compiled.
  int count() const;
  std::string name(int way) const;  ///< empty where there is none
  std::size_t workspace(int way) const;
  /// Tensors as (number, pointer).
  void run(Queue& queue, int way, std::vector<std::int64_t> ids, std::vector<void*> pointers,
           void* workspace) const;

  /// How many configurations of engines the heuristics offer under these rules: for tests where
  /// there is no driver, without which those that are compiled cannot be loaded.
  std::size_t offered() const { return offered_.size(); }

 private:
  struct Plan {
    CudnnDescriptor descriptor;
    std::size_t workspace;
    std::string name;
  };
  void make(std::size_t plans) const;
  const Plan& plan(int way) const;

  CudnnTarget& target_;
  CudnnGraph graph_;
  std::vector<CudnnDescriptor> offered_;
  mutable std::mutex mutex_;
  mutable std::size_t tried_ = 0;
  mutable std::deque<Plan> made_;  // those made stay where they are
};

}  // namespace thalweg::engine::gpu
