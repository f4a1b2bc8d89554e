#include "engine/device/cuda/executor.h"

#include "engine/device/cuda/layout.h"

namespace thalweg::engine::cuda {
namespace {

std::size_t floats_of(const std::vector<ParameterInfo>& infos) {
  return infos.empty() ? 0 : infos.back().offset + infos.back().count;
}

}  // namespace

CudaExecutor::CudaExecutor(gpu::Gpu& machine, const Plan& plan,
                           const std::vector<ParameterInfo>& infos)
    : plan_(plan),
      floats_(floats_of(infos)),
      arena_(machine, plan.arena_bytes,
             "activations of a shard of " + std::to_string(plan.samples) + " samples"),
      weights_(machine, plan.bf16_weights ? floats_ * sizeof(Bf16) : 0, "weights in bfloat16"),
      constants_(machine, plan.constants.size() * sizeof(float), "constants"),
      pointers_(plan.tensors.size(), nullptr),
      again_(plan.tensors.size(), nullptr) {
  if (constants_.bytes() > 0)
    machine.copy(constants_.data(), plan.constants.data(), constants_.bytes());
}

void CudaExecutor::bind(const Shard& shard) {
  const auto base = [&](Home home) -> const void* {
    switch (home) {
      case Home::arena:
        return arena_.data();
      case Home::input:
        return shard.batch.inputs;
      case Home::labels:
        return shard.batch.labels;
      case Home::targets:
        return shard.batch.targets;
      case Home::labels_b:
        return shard.batch.labels_b;
      case Home::shares_b:
        return shard.batch.shares_b;
      case Home::parameters:
        return shard.parameters;
      case Home::weights:
        return weights_.data();
      case Home::gradients:
        return shard.gradients;
      case Home::statistics:
        return shard.statistics;
      case Home::running:
        return shard.running;
      case Home::constants:
        return constants_.data();
      case Home::result:
        return shard.result;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const Tensor& tensor = plan_.tensors[i];
    // Whether an operation writes is in its nature.
    auto* start = static_cast<std::byte*>(const_cast<void*>(base(tensor.home)));
    pointers_[i] = start == nullptr ? nullptr : start + tensor.offset;
    again_[i] = start == nullptr ? nullptr : start + tensor.again;
  }
}

Frame CudaExecutor::frame(gpu::Stream& stream, const Shard& shard) const {
  return {pointers_.data(), shard.key, stream, shard.batch.labels_b != nullptr,
          shard.batch.draw_labels};
}

void CudaExecutor::take_parameters(gpu::Stream& stream, const float* parameters) {
  taken_ = parameters;
  if (weights_.bytes() == 0) return;
  convert(stream, static_cast<std::int64_t>(floats_), Type::f32, parameters, Type::bf16,
          weights_.data());
}

void CudaExecutor::train(gpu::Stream* stream, const Shard& shard, const ReadyFunction& ready) {
  bind(shard);
  const Frame at = frame(*stream, shard);
  for (const auto* operations : {&plan_.forward, &plan_.loss})
    for (const Operation& operation : *operations)
      operation.kernel(at);
  Frame backward = at;
  backward.pointers = again_.data();
  for (const Operation& operation : plan_.backward) {
    operation.kernel(backward);
    if (!ready) continue;
    for (const int number : operation.ready)
      ready(number);
  }
}

void CudaExecutor::evaluate(gpu::Stream* stream, const Shard& shard) {
  bind(shard);
  const Frame at = frame(*stream, shard);
  for (const auto* operations : {&plan_.evaluation, &plan_.evaluation_loss})
    for (const Operation& operation : *operations)
      operation.kernel(at);
}

}  // namespace thalweg::engine::cuda
