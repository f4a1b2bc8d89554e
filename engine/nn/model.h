// A model compiled for a device: a static graph with known shapes, memory planned once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/compile_options.h"
#include "engine/device/input_shape.h"
#include "engine/device/kernels.h"
#include "engine/gpu/types.h"
#include "engine/tensor/parameter.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

namespace gpu {
class Gpu;
}
struct LossPlan;
/// engine/nn/executor.h
template <class T>
class BasicExecutor;
using Executor = BasicExecutor<float>;

/// Immutable after construction; thread-safe to read. Must outlive its executors.
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual std::size_t parameter_floats() const = 0;  ///< size of the flat memory, padding included
  virtual std::int64_t parameter_count() const = 0;  ///< as people count, no padding
  virtual std::size_t statistics() const = 0;  ///< floats of running statistics, 0 for most models
  /// Parameter numbers in the order in which backward completes them.
  virtual const std::vector<int>& ready_order() const = 0;
  /// Whether every training pass gives every parameter a gradient. Where not, an executor calls
  /// ready() only for those that it touched, and may leave the others' gradients as they were.
  virtual bool touches_all() const { return true; }
  /// Whether a training pass needs Batch::meeting: shards exchange numbers in the middle of it, so
  /// all of a rank's must be under way at once.
  virtual bool joins_shards() const { return false; }
  virtual std::unique_ptr<Executor> executor() const = 0;
  /// BasicProgram::executor_memory().
  virtual ExecutorMemory executor_memory() const { return {}; }
  /// BasicProgram::library_calls(), BasicProgram::measure_calls().
  virtual std::vector<CallKind> library_calls() const { return {}; }
  virtual KernelTimes measure_calls(const MeasureOptions& options) const {
    (void)options;
    return {};
  }
  /// In whose memory parameters, gradients and statistics lie; null: the host's.
  virtual gpu::Gpu* gpu() const { return nullptr; }
  /// What 32-bit floats are multiplied in on a GPU.
  virtual gpu::Products products() const { return gpu::Products::fp32; }
  /// StatisticPlan::momentum of each statistic.
  virtual std::vector<float> statistic_momenta() const { return {}; }
  virtual const LossPlan& loss() const = 0;

  /// Seeded initial values in the device's layout: weights normal with variance 2 / fan_in where a
  /// relu follows, else 1 / fan_in; biases 0; batch norm weight 1, bias 0. Stream::init, keyed by
  /// parameter and element number in the plain layout, so equal on every device. `running`
  /// (statistics() floats of the host's memory, may be null if 0): mean 0, variance 1.
  virtual void initialize(std::uint64_t seed, float* parameters, float* running) const = 0;
  /// running = (1 - momentum) * running + momentum * mean over shards (sum / shards); variances are
  /// the biased ones.
  virtual void update_running(const float* statistics_sum, int shards, float* running) const = 0;

  /// Between the device's layout (parameter_floats()) and the plain one that checkpoints hold
  /// (parameter_count() floats: parameters one after another in order, no padding). Works for
  /// parameters, gradients and optimizer state alike. from_plain writes padding as 0.
  virtual void to_plain(const float* device, float* plain) const = 0;
  virtual void from_plain(const float* plain, float* device) const = 0;
  /// One parameter: its ParameterInfo::count floats, its elements(shape) plain ones.
  virtual void to_plain(int parameter, const float* device, float* plain) const = 0;
  virtual void from_plain(int parameter, const float* plain, float* device) const = 0;
};

/// Builds `train.model` with `train.loss` for a device ("cpu" or "reference") and a fixed number of
/// samples a shard. Throws std::invalid_argument with a plain sentence where options or shapes do
/// not fit, or the device or this processor cannot do what `options` ask.
std::unique_ptr<Model> build_model(const jobspec::Value& model, const InputShape& input,
                                   int shard_batch, const std::string& device,
                                   const jobspec::Value& loss = jobspec::null_value(),
                                   const CompileOptions& options = {});

/// The tables' rows for `thalweg-train --schema`.
std::vector<jobspec::Section> model_schema();

}  // namespace thalweg::engine
