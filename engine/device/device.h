// The seam between a graph and the machine that runs it: a device compiles a graph for a fixed
// number of samples into a Program; each Lane of it holds the memory of one shard under way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/layer.h"
#include "engine/device/meeting.h"
#include "engine/tensor/parameter.h"
#include "engine/tensor/shape.h"

namespace thalweg::engine {

/// What a device computes in. Parameters, their gradients and all statistics are 32-bit floats in
/// either.
enum class Precision {
  fp32,
  bf16  ///< values between layers and what is multiplied are bfloat16; sums are 32-bit floats
};

/// Names by value: "fp32", "bf16".
const std::vector<std::string>& precision_names();
/// Throws std::invalid_argument where there is none of that name.
Precision precision_named(const std::string& name);

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
};

using Program = BasicProgram<float>;

/// Names, shapes, offsets for counts in the device's layout (0: the plain count); counts are
/// rounded up to 64 bytes.
std::vector<ParameterInfo> place_parameters(const Graph& graph,
                                            const std::vector<std::size_t>& device_counts);

/// Throws std::invalid_argument where a training batch has not `samples`, or an evaluation one has
/// more.
void check_batch(const Batch& batch, int samples, bool training);

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
/// Throws std::invalid_argument where the processor has no arithmetic of that precision.
std::unique_ptr<Program> compile(const Graph& graph, int samples,
                                 Precision precision = Precision::fp32);
}  // namespace cpu

}  // namespace thalweg::engine
