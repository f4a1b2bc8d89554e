// The seam between a graph and the machine that runs it: a device compiles a graph for a fixed
// number of samples into a Program; each Lane of it holds the memory of one shard under way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/kernels.h"
#include "engine/device/layer.h"
#include "engine/device/meeting.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"
#include "engine/tensor/parameter.h"
#include "engine/tensor/shape.h"

namespace thalweg::engine {

/// What a device computes in. Parameters, their gradients and all statistics are 32-bit floats in
/// either.
enum class Precision {
  fp32,
  bf16,  ///< values between layers and what is multiplied are bfloat16; sums are 32-bit floats
  tf32   ///< what is multiplied has 10 bits of mantissa (GPUs); sums are 32-bit floats
};

/// Names by value: "fp32", "bf16", "tf32".
const std::vector<std::string>& precision_names();
/// Throws std::invalid_argument where there is none of that name.
Precision precision_named(const std::string& name);

/// What a device is asked beside the graph. A Precision stands for one with all else as it is.
struct CompileOptions {
  CompileOptions(Precision in = Precision::fp32) : precision(in) {}
  Precision precision;
  /// Backward computes most layers' outputs again, in place of their being kept: one more forward
  /// pass for less memory, the same bits. GPUs only.
  bool recompute = false;
  /// How calls of a GPU's libraries choose their ways.
  KernelOptions kernels = {};
};

/// Bytes that a lane takes of its device's memory.
struct LaneMemory {
  std::size_t activations = 0;  ///< values and their gradients
  std::size_t workspace = 0;    ///< the largest of library calls
  std::size_t weights = 0;      ///< copies of parameters in another type or layout
  std::size_t staging = 0;      ///< the batch
};

/// Input of one shard. Images are float, plain (n, c, h, w), or flat (n, features); labels are
/// class numbers, one or more a sample; or there are real targets instead. Tokens are numbers too.
struct Batch {
  const float* inputs = nullptr;
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  int samples = 0;                 ///< training: exactly the shard's batch. Evaluation: at most it
  std::uint64_t seed = 0;          ///< the trial's seed: keys dropout
  std::uint32_t step = 0;          ///< keys dropout
  std::uint64_t first_sample = 0;  ///< position of sample 0 in the global batch: keys dropout
  /// Training: instead of `labels`, draw them from the model's own predictions (Stream::labels).
  bool draw_labels = false;
  /// Calls of a lane with equal numbers see equal parameters, so that what it has made of them
  /// still stands; 0: nobody says.
  std::uint64_t round = 0;
  /// Of blended samples: another label for each of `labels`, and what it weighs in its sample, 0 to
  /// 1 (the own one weighs the rest). Null: there are none. For losses that take them.
  const std::int32_t* partner_labels = nullptr;
  const float* partner_shares = nullptr;
  /// Training: where this shard meets the others of its step, which are under way in other threads;
  /// null: it stands alone. For layers that take statistics over all shards.
  Meeting* meeting = nullptr;
  int shard = 0;  ///< its number there
};

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

/// A graph compiled for one device. Immutable after construction; thread-safe to read. Must outlive
/// its lanes.
template <class T>
class BasicProgram {
 public:
  virtual ~BasicProgram() = default;
  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual const std::vector<int>& ready_order() const = 0;
  virtual std::unique_ptr<BasicLane<T>> lane() const = 0;
  /// One parameter between the device's layout (ParameterInfo::count numbers, padding written as 0)
  /// and the plain one.
  virtual void to_plain(int parameter, const T* device, T* plain) const = 0;
  virtual void from_plain(int parameter, const T* plain, T* device) const = 0;
  /// In whose memory parameters, gradients and statistics lie; null: the host's.
  virtual gpu::Gpu* gpu() const { return nullptr; }
  /// Known before there is a lane; all 0 where the device does not plan its memory.
  virtual LaneMemory lane_memory() const { return {}; }
  /// Of a GPU's libraries, those that have a key; none on other devices.
  virtual std::vector<CallKind> library_calls() const { return {}; }
  /// Runs each kind of them in all its ways, as a recorded step does, with numbers in all tensors.
  /// While it measures it takes what a lane takes without its workspace, parameters, gradients, and
  /// a workspace of up to options.scratch bytes. For an idle GPU and one thread, while no lane
  /// runs.
  virtual KernelTimes measure_calls(const MeasureOptions& options) const {
    (void)options;
    return {};
  }
};

using Program = BasicProgram<float>;

/// Names, shapes, offsets for counts in the device's layout (0: the plain count); counts are
/// rounded up to 64 bytes.
std::vector<ParameterInfo> place_parameters(const Graph& graph,
                                            const std::vector<std::size_t>& device_counts);

/// Throws std::invalid_argument where a training batch has not `samples`, or an evaluation one has
/// more.
void check_batch(const Batch& batch, int samples, bool training);

/// Throws std::invalid_argument where a label of the batch is no class, or a token none of
/// `vocabulary` (0: inputs are no tokens).
void check_numbers(const LossPlan& loss, const Batch& batch, std::int64_t inputs, int vocabulary);

/// Labels drawn with the probabilities of the softmax of `outputs`, one for each position of each
/// sample; keyed by the batch's seed, step and the place in the global batch. `labels` grows where
/// it is too small; where the batch has no_label, so have they. Throws std::invalid_argument where
/// the loss is not one of labels.
template <class T>
void draw_labels(const LossPlan& loss, const T* outputs, const Batch& batch,
                 std::vector<std::int32_t>& labels);

/// The sentence for a label that is no class number. Throws std::invalid_argument.
[[noreturn]] void refuse_token(double token, std::int64_t place, std::int64_t tokens);
[[noreturn]] void refuse_label(std::int32_t label, int sample, int classes);

/// Token number i of a shard's inputs. Throws std::invalid_argument where it is none of `tokens`.
template <class T>
std::int64_t token_at(const T* inputs, std::int64_t i, std::int64_t tokens) {
  const auto token = static_cast<std::int64_t>(inputs[i]);
  if (token >= 0 && token < tokens && static_cast<T>(token) == inputs[i]) return token;
  refuse_token(static_cast<double>(inputs[i]), i, tokens);
}

namespace reference {
template <class T>
std::unique_ptr<BasicProgram<T>> compile(const Graph& graph, int samples);
}
namespace cpu {
/// Throws std::invalid_argument where the processor has no arithmetic of that precision, or the
/// options are of GPUs.
std::unique_ptr<Program> compile(const Graph& graph, int samples,
                                 const CompileOptions& options = {});
}  // namespace cpu
namespace cuda {
/// On gpu::chosen_gpu(). Throws GpuError where there is none, OutOfMemory where it does not fit.
std::unique_ptr<Program> compile(const Graph& graph, int samples,
                                 const CompileOptions& options = {});
}  // namespace cuda

}  // namespace thalweg::engine
