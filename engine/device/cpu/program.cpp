// The cpu program: a plan, its executors, and the way between the kernels' weight layouts and the
// plain one.
#include <algorithm>
#include <stdexcept>

#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/executor.h"
#include "engine/device/cpu/program.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/single_thread.h"

namespace thalweg::engine::cpu {
namespace {

void copy_layout(const Desc& from_desc, const float* from, const Desc& to_desc, float* to) {
  dnnl::memory source(from_desc, cpu_engine(), const_cast<float*>(from));
  dnnl::memory target(to_desc, cpu_engine(), to);
  dnnl::stream stream(cpu_engine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

}  // namespace

CpuProgram::CpuProgram(const Graph& graph, int samples, Precision precision) : graph_(graph) {
  if (precision == Precision::tf32)
    throw std::invalid_argument("precision: tf32 is of GPUs (device cuda); use fp32 or bf16");
  if (precision == Precision::bf16 && !has_bf16())
    throw std::invalid_argument(
        "precision: this processor does not multiply bf16 (avx512_bf16 and AMX do); use fp32");
  const SingleThread guard;
  plan_ = Builder(graph_, samples, precision).finish();
}

std::unique_ptr<BasicExecutor<float>> CpuProgram::executor() const {
  const SingleThread guard;
  return std::make_unique<CpuExecutor>(plan_, graph_, plan_.infos);
}

void CpuProgram::to_plain(int number, const float* device, float* plain) const {
  const SingleThread guard;
  const Parameter& parameter = plan_.parameters[static_cast<std::size_t>(number)];
  if (parameter.order == nullptr)
    return copy_layout(parameter.desc, device, parameter.plain, plain);
  Buffer rows(parameter.plain.get_size());
  copy_layout(parameter.desc, device, parameter.plain, rows.floats());
  for_each_weight(number, [&](std::int64_t in_memory, std::int64_t in_plain) {
    plain[in_plain] = rows.floats()[in_memory];
  });
}

void CpuProgram::from_plain(int number, const float* plain, float* device) const {
  const SingleThread guard;
  const auto n = static_cast<std::size_t>(number);
  const Parameter& parameter = plan_.parameters[n];
  std::fill_n(device, plan_.infos[n].count, 0.0f);
  if (parameter.order == nullptr)
    return copy_layout(parameter.plain, plain, parameter.desc, device);
  Buffer rows(parameter.plain.get_size());
  for_each_weight(number, [&](std::int64_t in_memory, std::int64_t in_plain) {
    rows.floats()[in_memory] = plain[in_plain];
  });
  copy_layout(parameter.plain, rows.floats(), parameter.desc, device);
}

template <class Visit>
void CpuProgram::for_each_weight(int number, Visit visit) const {
  const auto n = static_cast<std::size_t>(number);
  const std::vector<std::int32_t>& order = *plan_.parameters[n].order;
  const std::int64_t rows = plan_.infos[n].shape[0], features = plan_.infos[n].shape[1];
  const auto width = static_cast<std::int64_t>(order.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < width; ++i)
      if (order[static_cast<std::size_t>(i)] >= 0)
        visit(row * width + i, row * features + order[static_cast<std::size_t>(i)]);
}

ExecutorMemory CpuProgram::executor_memory() const {
  ExecutorMemory memory;
  memory.activations = plan_.arena_bytes;
  memory.weights = plan_.weight_bytes;
  memory.staging = static_cast<std::size_t>(plan_.samples * elements(graph_.input)) * sizeof(float);
  return memory;
}

std::unique_ptr<Program> compile(const Graph& graph, int samples, const CompileOptions& options) {
  if (options.recompute)
    throw std::invalid_argument(
        "recompute: the cpu device keeps what backward reads; set recompute to none, or use a GPU "
        "(device cuda)");
  return std::make_unique<CpuProgram>(graph, samples, options.precision);
}

}  // namespace thalweg::engine::cpu
