// The memory of one shard under way, and the passes over it.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/device/batch.h"
#include "engine/device/shard_result.h"

namespace thalweg::engine {

namespace gpu {
struct Bf16;
class Stream;
}  // namespace gpu

/// Called with a parameter's number as soon as its gradient is complete: of a GPU, as soon as the
/// work that completes it is in the stream.
using ReadyFunction = std::function<void(int parameter)>;

/// What changes from step to step and a GPU's kernels read from its memory, so that a captured step
/// can be done again.
struct ShardKey {
  std::uint64_t seed = 0;
  std::uint64_t first_sample = 0;
  std::uint32_t step = 0;
  std::int32_t samples = 0;  ///< how many count; of the others nothing is looked at
  float scale = 1;           ///< of the gradient of the loss
};

/// What a pass reads and writes. All pointers are the device's memory; of parameters, gradients and
/// statistics they start at a multiple of alignment_bytes (tensor/buffer.h).
template <class T>
struct BasicShard {
  Batch batch;  ///< on a GPU there are numbers for all samples of the program
  /// On a GPU: what counts in place of the batch's seed, step, first_sample and samples, and scale.
  const ShardKey* key = nullptr;
  const T* parameters = nullptr;
  const T* running = nullptr;  ///< evaluation only
  T scale = 1;                 ///< training: multiplies the loss
  /// Training: overwritten with the gradient of scale * (sum over samples of the loss), in the
  /// parameters' plan. Padding is overwritten with 0, or on a GPU stays.
  T* gradients = nullptr;
  /// Training: overwritten. Model::statistics() numbers, e.g. batch norm's batch mean and variance;
  /// may be null where there are none.
  T* statistics = nullptr;
  ShardResult* result = nullptr;  ///< overwritten
  /// Evaluation on the host: what the model puts out, the batch's samples in plain order; null: who
  /// asks for the loss alone. GPUs do not look at it.
  T* outputs = nullptr;
};
using Shard = BasicShard<float>;

/// Activations and workspaces for one shard under way; several executors of a program may run in
/// several threads at once, one thread each. T is float, or double on the reference device.
template <class T>
class BasicExecutor {
 public:
  virtual ~BasicExecutor() = default;
  /// Forward and backward. Of a GPU: the work is put into `stream`, nothing is waited for, and
  /// labels and tokens must have been checked (check_numbers). Of the host, where `stream` is not
  /// looked at, all has been done at the return. `ready` may be empty; it is called in the order of
  /// the backward pass, the same on every call. Throws std::invalid_argument on a wrong number of
  /// samples or a label that is no class.
  virtual void train(gpu::Stream* stream, const BasicShard<T>& shard,
                     const ReadyFunction& ready) = 0;
  /// Forward only, with running statistics and no dropout.
  virtual void evaluate(gpu::Stream* stream, const BasicShard<T>& shard) = 0;

  /// Of a GPU, where the parameters have changed: before train() or evaluate(). The host's
  /// executors go by Batch::round.
  virtual void take_parameters(gpu::Stream& stream, const T* parameters) {
    (void)stream, (void)parameters;
  }
  /// Where take_parameters() puts a copy of the parameters in bfloat16, element by element: who
  /// changes parameters may write that along with them, in place of a call. Null: it makes none.
  virtual gpu::Bf16* narrow_parameters() { return nullptr; }
  /// Whose copy that is: what the last call of take_parameters() was given.
  virtual const T* parameters_taken() const { return nullptr; }

  /// Of the host's executors: the same with the result returned.
  ShardResult train(const T* parameters, const Batch& batch, T scale, T* gradients, T* statistics,
                    const ReadyFunction& ready) {
    ShardResult result;
    BasicShard<T> shard{batch, nullptr, parameters};
    shard.scale = scale;
    shard.gradients = gradients;
    shard.statistics = statistics;
    shard.result = &result;
    train(nullptr, shard, ready);
    return result;
  }
  ShardResult evaluate(const T* parameters, const T* running, const Batch& batch) {
    ShardResult result;
    BasicShard<T> shard{batch, nullptr, parameters, running};
    shard.result = &result;
    evaluate(nullptr, shard);
    return result;
  }
};

}  // namespace thalweg::engine
