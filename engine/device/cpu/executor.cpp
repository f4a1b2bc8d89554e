#include "engine/device/cpu/executor.h"

#include <dnnl_debug.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "engine/tensor/single_thread.h"

namespace thalweg::engine::cpu {

CpuExecutor::CpuExecutor(const Plan& plan, const Graph& graph,
                         const std::vector<ParameterInfo>& infos)
    : plan_(plan),
      graph_(graph),
      infos_(infos),
      arena_(plan.arena_bytes),
      weights_(plan.weight_bytes),
      staging_(static_cast<std::size_t>(plan.samples * elements(graph.input)) * sizeof(float)),
      stream_(cpu_engine()),
      pointers_(plan.tensors.size(), nullptr) {
  for (const Tensor& tensor : plan_.tensors) {
    // Of a part of another tensor oneDNN says no size.
    const bool empty = tensor.base < 0 && tensor.desc.get_size() == 0;
    memories_.push_back(empty ? dnnl::memory()
                              : dnnl::memory(tensor.desc, cpu_engine(), DNNL_MEMORY_NONE));
  }
  convert_ = prepare(plan_.weights);
  forward_ = prepare(plan_.forward);
  evaluation_ = prepare(plan_.evaluation);
  backward_ = prepare(plan_.backward);
  bind(Home::arena, arena_.data());
  bind(Home::weights, weights_.data());
}

std::vector<CpuExecutor::Call> CpuExecutor::prepare(const std::vector<Operation>& operations) {
  std::vector<Call> calls;
  for (const Operation& operation : operations) {
    Call call{&operation, {}};
    if (!operation.kernel)
      for (const auto& [argument, id] : operation.arguments)
        call.arguments.push_back({argument, memories_[static_cast<std::size_t>(id)].get()});
    calls.push_back(std::move(call));
  }
  return calls;
}

void CpuExecutor::bind(Home home, const void* base) {
  const void*& bound = bound_[static_cast<std::size_t>(home)];
  if (bound == base) return;
  bound = base;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const Tensor& tensor = plan_.tensors[i];
    if (tensor.home != home || !memories_[i]) continue;
    // Whether an operation writes is in its nature; oneDNN's handles know no const.
    pointers_[i] = static_cast<std::byte*>(const_cast<void*>(base)) + tensor.offset;
    memories_[i].set_data_handle(pointers_[i]);
  }
}

void CpuExecutor::run(const Call& call, const Frame& frame) {
  if (call.operation->kernel) {
    call.operation->kernel(frame);
    return;
  }
  const dnnl_status_t status =
      dnnl_primitive_execute(call.operation->primitive.get(), stream_.get(),
                             static_cast<int>(call.arguments.size()), call.arguments.data());
  if (status != dnnl_success)
    throw std::runtime_error("oneDNN could not run a primitive: " +
                             std::string(dnnl_status2str(status)));
}

template <class Work>
void CpuExecutor::watched(const Operation* operation, Work work) {
  if (!observer_) return work();
  const auto start = std::chrono::steady_clock::now();
  work();
  observer_(operation,
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

const float* CpuExecutor::whole_shard(const Batch& batch) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(batch.inputs) % alignment_bytes == 0;
  if (batch.samples == plan_.samples && aligned) return batch.inputs;
  const auto given = static_cast<std::size_t>(batch.samples * elements(graph_.input));
  std::copy_n(batch.inputs, given, staging_.floats());
  std::fill(staging_.floats() + given, staging_.floats() + staging_.bytes() / sizeof(float), 0.0f);
  return staging_.floats();
}

void CpuExecutor::read_parameters(const Shard& shard, const Frame& frame) {
  const std::uint64_t round = shard.batch.round;
  if (round != 0 && round == round_ && shard.parameters == made_from_) return;
  round_ = round;
  made_from_ = shard.parameters;
  for (const Call& call : convert_)
    watched(call.operation, [&] { run(call, frame); });
}

void CpuExecutor::train(gpu::Stream*, const Shard& shard, const ReadyFunction& ready) {
  const Batch& batch = shard.batch;
  check_batch(batch, plan_.samples, true);
  const SingleThread guard;
  bind(Home::input, whole_shard(batch));
  bind(Home::parameters, shard.parameters);
  bind(Home::gradients, shard.gradients);
  bind(Home::statistics, shard.statistics);
  const Frame frame{pointers_.data(), &batch};
  read_parameters(shard, frame);
  for (const Call& call : forward_)
    watched(call.operation, [&] { run(call, frame); });
  Batch labelled = batch;
  if (batch.draw_labels) {
    draw_labels(graph_.loss, frame.floats(plan_.output), batch, drawn_);
    labelled.labels = drawn_.data();
  }
  watched(nullptr, [&] {
    *shard.result = graph_.loss.kind->cpu(
        graph_.loss,
        {frame.floats(plan_.output), &labelled, shard.scale, frame.floats(plan_.output_gradient)});
  });
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    const std::size_t own = plan_.parameters[i].desc.get_size() / sizeof(float);
    float* gradient = shard.gradients + infos_[i].offset;
    std::fill(gradient + own, gradient + infos_[i].count, 0.0f);
  }
  for (const Call& call : backward_) {
    watched(call.operation, [&] { run(call, frame); });
    if (!ready) continue;
    for (const int number : call.operation->ready)
      ready(number);
  }
}

void CpuExecutor::evaluate(gpu::Stream*, const Shard& shard) {
  const Batch& batch = shard.batch;
  check_batch(batch, plan_.samples, false);
  const SingleThread guard;
  bind(Home::input, whole_shard(batch));
  bind(Home::parameters, shard.parameters);
  bind(Home::running, shard.running);
  const Frame frame{pointers_.data(), &batch};
  read_parameters(shard, frame);
  for (const Call& call : evaluation_)
    run(call, frame);
  *shard.result =
      graph_.loss.kind->cpu(graph_.loss, {frame.floats(plan_.output), &batch, 1.0f, nullptr});
  if (shard.outputs != nullptr)
    std::copy_n(frame.floats(plan_.output),
                static_cast<std::size_t>(batch.samples * elements(graph_.loss.output)),
                shard.outputs);
}

}  // namespace thalweg::engine::cpu
