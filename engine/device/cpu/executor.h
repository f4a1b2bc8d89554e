// Runs a plan: the memory of one shard under way, and oneDNN's handles to it.
#pragma once

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "engine/device/cpu/plan.h"
#include "engine/device/executor.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/parameter.h"

namespace thalweg::engine::cpu {

/// Nothing is allocated after construction (oneDNN keeps small tables of its own while a primitive
/// runs).
class CpuExecutor final : public BasicExecutor<float> {
 public:
  /// Told what an operation of train() took; null: the loss.
  using Observer = std::function<void(const Operation*, double seconds)>;

  /// `plan`, `graph` and `infos` must outlive the executor.
  CpuExecutor(const Plan& plan, const Graph& graph, const std::vector<ParameterInfo>& infos);

  using BasicExecutor<float>::train;
  using BasicExecutor<float>::evaluate;
  void train(gpu::Stream*, const Shard& shard, const ReadyFunction& ready) override;
  void evaluate(gpu::Stream*, const Shard& shard) override;
  /// For whoever wants to know where time goes; empty: nobody.
  void observe(Observer observer) { observer_ = std::move(observer); }

 private:
  /// An operation with its arguments as oneDNN's C interface takes them.
  struct Call {
    const Operation* operation;
    std::vector<dnnl_exec_arg_t> arguments;
  };

  std::vector<Call> prepare(const std::vector<Operation>& operations);
  void bind(Home home, const void* base);
  void run(const Call& call, const Frame& frame);
  /// work(), and the time it took to the observer.
  template <class Work>
  void watched(const Operation* operation, Work work);
  /// The batch's inputs where kernels can read a whole shard from; a copy where that would run past
  /// the end.
  const float* whole_shard(const Batch& batch);
  /// Brings the copies of parameters up to date.
  void read_parameters(const Shard& shard, const Frame& frame);

  const Plan& plan_;
  const Graph& graph_;
  const std::vector<ParameterInfo>& infos_;
  Buffer arena_, weights_, staging_;
  std::vector<std::int32_t> drawn_;
  dnnl::stream stream_;
  std::vector<std::byte*> pointers_;        ///< by TensorId
  std::vector<dnnl::memory> memories_;      ///< by TensorId
  std::array<const void*, homes> bound_{};  ///< by Home
  std::uint64_t round_ = 0;                 ///< in which weights_ were made
  const float* made_from_ = nullptr;
  std::vector<Call> convert_, forward_, evaluation_, backward_;
  Observer observer_;
};

}  // namespace thalweg::engine::cpu
