// A model compiled for a device: a static graph with known shapes, memory planned once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

using Shape = std::vector<std::int64_t>;

/// A parameter's place in the flat parameter memory. The gradient memory has the same plan.
struct ParameterInfo {
  std::string name;            ///< "conv1.weight"
  Shape shape;                 ///< plain (out, in, kh, kw)
  std::size_t offset = 0;      ///< in floats; a multiple of 16 (64 bytes)
  std::size_t count = 0;       ///< floats in the device's own layout, padding included (padding stays 0)
  bool decay = true;           ///< false for biases and normalisation: weight decay may leave them out
  bool norm_or_bias = false;
};

/// Input of one shard. Images are float, plain (n, c, h, w), or flat (n, features); labels are class numbers.
struct Batch {
  const float* inputs = nullptr;
  const std::int32_t* labels = nullptr;
  int samples = 0;             ///< training: exactly the shard's batch. Evaluation: at most it
  std::uint32_t step = 0;      ///< keys dropout
  std::uint64_t first_sample = 0;  ///< position of sample 0 in the global batch: keys dropout
};

struct ShardResult {
  double loss_sum = 0;         ///< sum over samples of the loss (not the mean)
  std::int64_t wrong = 0;      ///< samples whose arg max is not the label
};

/// Activations and workspaces for one shard under way; several lanes of a model may run in several threads at once.
class Lane {
 public:
  virtual ~Lane() = default;
  /// Forward and backward. `gradients` has the parameters' plan and is overwritten with the gradient of
  /// scale * (sum over samples of the loss). `statistics` (Model::statistics() floats, e.g. batch norm's batch mean
  /// and variance) is overwritten. `ready(i)` is called when parameter i's gradient is complete, in the
  /// order of the backward pass, the same on every call.
  virtual ShardResult train(const float* parameters, const Batch& batch, float scale, float* gradients,
                            float* statistics, const std::function<void(int parameter)>& ready) = 0;
  /// Forward only, with running statistics and no dropout.
  virtual ShardResult evaluate(const float* parameters, const float* running, const Batch& batch) = 0;
};

/// Immutable after construction; thread-safe to read.
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual std::size_t parameter_floats() const = 0;   ///< size of the flat memory, padding included
  virtual std::int64_t parameter_count() const = 0;   ///< as people count, no padding
  virtual std::size_t statistics() const = 0;         ///< floats of running statistics, 0 for most models
  /// Parameter numbers in the order in which backward completes them.
  virtual const std::vector<int>& ready_order() const = 0;
  virtual std::unique_ptr<Lane> lane() const = 0;

  /// Seeded initial values in the device's layout (He/Glorot as each layer says; Stream::init, keyed by parameter
  /// and element number in the plain layout, so equal on every device).
  virtual void initialize(std::uint64_t seed, float* parameters, float* running) const = 0;
  /// running = (1 - momentum) * running + momentum * mean over shards (sum / shards).
  virtual void update_running(const float* statistics_sum, int shards, float* running) const = 0;

  /// Between the device's layout and the plain one that checkpoints hold (same offsets rule, no padding:
  /// parameters one after another in order). Works for parameters, gradients and optimizer state alike.
  virtual void to_plain(const float* device, float* plain) const = 0;
  virtual void from_plain(const float* plain, float* device) const = 0;
};

struct InputShape {
  Shape sample;                ///< (c, h, w) or (features)
  int classes = 0;
};

/// Builds `train.model` for a device ("cpu" or "reference") and a fixed number of samples a shard.
/// Throws std::invalid_argument with a plain sentence where options or shapes do not fit.
std::unique_ptr<Model> build_model(const jobspec::Value& model, const InputShape& input, int shard_batch,
                                   const std::string& device);

/// The tables' rows for `thalweg-train --schema`.
std::vector<jobspec::Section> model_schema();

}  // namespace thalweg::engine
