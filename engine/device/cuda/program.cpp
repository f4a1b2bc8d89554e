// The cuda program: a plan, its executors, and the way between the kernels' weight layouts and the
// plain one.
#include "engine/device/cuda/program.h"

#include <algorithm>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/executor.h"
#include "engine/device/cuda/measure.h"
#include "engine/device/device.h"

namespace thalweg::engine::cuda {

CudaProgram::CudaProgram(gpu::Gpu& machine, const Graph& graph, int samples,
                         const CompileOptions& options)
    : machine_(machine), graph_(graph) {
  const std::unique_ptr<gpu::Stream> stream = machine_.stream();
  plan_ = Builder(*stream, graph_, samples, options).finish();
}

std::unique_ptr<BasicExecutor<float>> CudaProgram::executor() const {
  return std::make_unique<CudaExecutor>(machine_, plan_, plan_.infos);
}

void CudaProgram::to_plain(int number, const float* device, float* plain) const {
  const Parameter& parameter = plan_.parameters[static_cast<std::size_t>(number)];
  std::vector<float> here(static_cast<std::size_t>(parameter.count));
  machine_.copy(here.data(), device, here.size() * sizeof(float));
  for (std::size_t i = 0; i < here.size(); ++i)
    plain[parameter.order ? static_cast<std::size_t>((*parameter.order)[i]) : i] = here[i];
}

void CudaProgram::from_plain(int number, const float* plain, float* device) const {
  const auto n = static_cast<std::size_t>(number);
  const Parameter& parameter = plan_.parameters[n];
  std::vector<float> here(plan_.infos[n].count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(parameter.count); ++i)
    here[i] = plain[parameter.order ? static_cast<std::size_t>((*parameter.order)[i]) : i];
  machine_.copy(device, here.data(), here.size() * sizeof(float));
}

ExecutorMemory CudaProgram::executor_memory() const {
  ExecutorMemory memory;
  memory.workspace = plan_.workspace_bytes;
  memory.activations = plan_.arena_bytes - plan_.workspace_bytes;
  if (plan_.bf16_weights)
    for (const ParameterInfo& info : plan_.infos)
      memory.weights += info.count * sizeof(Bf16);
  memory.staging = plan_.constants.size() * sizeof(float);
  return memory;
}

std::vector<CallKind> CudaProgram::library_calls() const {
  return kinds_of(plan_);
}

KernelTimes CudaProgram::measure_calls(const MeasureOptions& options) const {
  return measure(machine_, plan_, options);
}

std::unique_ptr<Program> compile(const Graph& graph, int samples, const CompileOptions& options) {
  return std::make_unique<CudaProgram>(gpu::chosen_gpu(), graph, samples, options);
}

}  // namespace thalweg::engine::cuda
