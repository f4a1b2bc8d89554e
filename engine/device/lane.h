// The memory of one shard under way, and the passes over it.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/device/batch.h"
#include "engine/device/shard_result.h"

namespace thalweg::engine {

namespace gpu {
struct Bf16;
class Queue;
}  // namespace gpu

/// Called with a parameter's number as soon as its gradient is complete.
using ReadyFunction = std::function<void(int parameter)>;

/// What changes from step to step and a GPU's kernels read from its memory, so that a recorded step
/// can be done again.
struct ShardKey {
  std::uint64_t seed = 0;
  std::uint64_t first_sample = 0;
  std::uint32_t step = 0;
  std::int32_t samples = 0;  ///< how many count; of the others nothing is looked at
  float scale = 1;           ///< of the gradient of the loss
};

/// A shard on a GPU; all is that GPU's memory. `inputs` ... as in Batch, of exactly the program's
/// number of samples.
struct QueuedShard {
  const float* parameters = nullptr;
  const float* running = nullptr;  ///< evaluation only
  const float* inputs = nullptr;
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  const std::int32_t* partner_labels = nullptr;  ///< null: the samples are not blended
  const float* partner_shares = nullptr;
  const ShardKey* key = nullptr;
  bool draw_labels = false;
  float* gradients = nullptr;   ///< training: overwritten but for the padding
  float* statistics = nullptr;  ///< training: overwritten
  double* result =
      nullptr;  ///< 1 + most_sums numbers, overwritten: the loss's sum and ShardResult::sums
};

/// What a lane on a GPU offers beside: work is put into a queue, nothing is waited for. Labels and
/// tokens must have been checked (check_numbers).
class QueuedLane {
 public:
  virtual ~QueuedLane() = default;
  /// Before train() or evaluate(), where the parameters have changed.
  virtual void take_parameters(gpu::Queue& queue, const float* parameters) = 0;
  /// Where take_parameters() puts a copy of the parameters in bfloat16, element by element: who
  /// changes parameters may write that along with them, in place of a call. Null: it makes none.
  virtual gpu::Bf16* narrow_parameters() { return nullptr; }
  /// Whose copy that is: what the last call of take_parameters() was given.
  virtual const float* parameters_taken() const { return nullptr; }
  /// `ready(i)` is called when the work that completes parameter i's gradient is in the queue.
  virtual void train(gpu::Queue& queue, const QueuedShard& shard, const ReadyFunction& ready) = 0;
  virtual void evaluate(gpu::Queue& queue, const QueuedShard& shard) = 0;
};

/// Activations and workspaces for one shard under way; several lanes of a program may run in
/// several threads at once, one thread each. T is float, or double on the reference device.
template <class T>
class BasicLane {
 public:
  virtual ~BasicLane() = default;
  /// Forward and backward. Memory of parameters, gradients and statistics starts at a multiple of
  /// alignment_bytes (tensor/buffer.h). `gradients` has the parameters' plan and is overwritten
  /// with the gradient of scale * (sum over samples of the loss), padding with 0. `statistics`
  /// (Model::statistics() numbers, e.g. batch norm's batch mean and variance) is overwritten; may
  /// be null where there are none. `ready(i)` is called when parameter i's gradient is complete, in
  /// the order of the backward pass, the same on every call. Throws std::invalid_argument on a
  /// wrong number of samples or a label that is no class.
  virtual ShardResult train(const T* parameters, const Batch& batch, T scale, T* gradients,
                            T* statistics, const ReadyFunction& ready) = 0;
  /// Forward only, with running statistics and no dropout.
  virtual ShardResult evaluate(const T* parameters, const T* running, const Batch& batch) = 0;
  /// Null where the lane is not one of a GPU.
  virtual QueuedLane* queued() { return nullptr; }
};

}  // namespace thalweg::engine
