// The seam between a graph and the machine that runs it: a device compiles a graph for a fixed
// number of samples into a Program; each Executor of it holds the memory of one shard under way.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/device/batch.h"
#include "engine/device/compile_options.h"
#include "engine/device/executor.h"
#include "engine/device/kernels.h"
#include "engine/tensor/parameter.h"

namespace thalweg::engine {

namespace gpu {
class Gpu;
}
struct Graph;

/// A graph compiled for one device. Immutable after construction; thread-safe to read. Must outlive
/// its executors.
template <class T>
class BasicProgram {
 public:
  virtual ~BasicProgram() = default;
  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual const std::vector<int>& ready_order() const = 0;
  virtual std::unique_ptr<BasicExecutor<T>> executor() const = 0;
  /// One parameter between the device's layout (ParameterInfo::count numbers, padding written as 0)
  /// and the plain one.
  virtual void to_plain(int parameter, const T* device, T* plain) const = 0;
  virtual void from_plain(int parameter, const T* plain, T* device) const = 0;
  /// In whose memory parameters, gradients and statistics lie; null: the host's.
  virtual gpu::Gpu* gpu() const { return nullptr; }
  /// Known before there is an executor; all 0 where the device does not plan its memory.
  virtual ExecutorMemory executor_memory() const { return {}; }
  /// Of a GPU's libraries, those that have a key; none on other devices.
  virtual std::vector<CallKind> library_calls() const { return {}; }
  /// Runs each kind of them in all its ways, as a captured step does, with numbers in all tensors.
  /// While it measures it takes what an executor takes without its workspace, parameters,
  /// gradients, and a workspace of up to options.scratch bytes. For an idle GPU and one thread,
  /// while no executor runs.
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
