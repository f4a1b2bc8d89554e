// From an operation graph of cuDNN to what runs it. For this folder only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/gpu/cudnn_graph.h"
#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

class CudnnPlans;

struct CudnnRules {
  bool tensor_cores = true;  ///< where false: 32-bit floats are multiplied as they are
};

/// What plans are made for: a GPU of this process, or one that is only described, for which plans
/// can be made but not run. Outlives the calls that are made for it.
class CudnnTarget {
 public:
  /// GPU `number`; made at the first call, for the life of the process. Throws GpuError.
  static CudnnTarget& of_gpu(int number);
  /// By cuDNN's JSON of a GPU's properties.
  explicit CudnnTarget(const std::string& properties);

  cudnnHandle_t handle() const { return handle_; }
  const std::optional<CudnnDescriptor>& properties() const { return properties_; }
  /// The plans of `key`, which says all that `graph` and `rules` follow from: made once and kept,
  /// since some take a second to compile. `call` names them in notes. Thread-safe.
  std::shared_ptr<const CudnnPlans> plans(const std::string& key, const std::string& call,
                                          const std::function<CudnnGraph()>& graph,
                                          CudnnRules rules);
  /// A handle is for one thread at a time: held while it is used.
  std::mutex& mutex() { return mutex_; }
  /// Makes the GPU the calling thread's.
  void use() const;

 private:
  explicit CudnnTarget(int number);
  int number_ = 0;
  cudnnHandle_t handle_ = nullptr;
  std::optional<CudnnDescriptor> properties_;
  std::mutex mutex_, mutex_of_plans_;
  std::map<std::string, std::shared_ptr<const CudnnPlans>> plans_;
};

/// The algorithms in which a graph can be run: deterministic ones only, with all sums in floats; of
/// different engines as far as there are. The first ones are made when they are asked for, all when
/// they are counted. Thread-safe.
class CudnnPlans {
 public:
  static constexpr int kAlgorithms = 8;

  CudnnPlans(CudnnTarget& target, std::string call, const std::function<CudnnGraph()>& graph,
             CudnnRules rules);

  /// Whether `way` can be run. May take a second: some are compiled.
  bool has(int algorithm) const;
  /// Why has(0) is false.
  std::string why_none() const;
  /// At most `most` and kAlgorithms. May take seconds at the first call.
  int count(int most = kAlgorithms) const;
  std::string name(int algorithm) const;  ///< empty where there is none
  std::size_t workspace(int algorithm) const;
  /// Tensors as (number, pointer).
  void run(Stream& stream, int algorithm, std::vector<std::int64_t> ids,
           std::vector<void*> pointers, void* workspace) const;

  /// How many configurations cuDNN's heuristics offer under these rules, and of how many engines.
  std::size_t offered() const { return offered_.size(); }
  std::size_t engines() const;

 private:
  struct Plan {
    CudnnDescriptor descriptor;
    std::size_t workspace;
    std::string name;
  };
  void make(std::size_t plans) const;
  const Plan& plan(int algorithm) const;

  CudnnTarget& target_;
  std::string call_;
  CudnnGraph graph_;
  std::vector<CudnnDescriptor> offered_;
  mutable std::mutex mutex_;
  mutable std::string why_none_;
  mutable std::size_t tried_ = 0;
  mutable std::deque<Plan> made_;  // those made stay where they are
};

}  // namespace thalweg::engine::gpu
