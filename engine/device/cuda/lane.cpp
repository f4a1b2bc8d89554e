#include "engine/device/cuda/lane.h"

#include <algorithm>
#include <cstring>

#include "engine/device/cuda/layout.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine::cuda {
namespace {

std::size_t floats_of(const std::vector<ParameterInfo>& infos) {
  return infos.empty() ? 0 : infos.back().offset + infos.back().count;
}

}  // namespace

CudaLane::CudaLane(gpu::Gpu& machine, const Plan& plan, const Graph& graph,
                   const std::vector<ParameterInfo>& infos)
    : plan_(plan),
      graph_(graph),
      floats_(floats_of(infos)),
      arena_(machine, plan.arena_bytes,
             "activations of a shard of " + std::to_string(plan.samples) + " samples"),
      weights_(machine, plan.bf16_weights ? floats_ * sizeof(Bf16) : 0, "weights in bfloat16"),
      constants_(machine, plan.constants.size() * sizeof(float), "constants"),
      queue_(machine.queue()),
      pointers_(plan.tensors.size(), nullptr),
      again_(plan.tensors.size(), nullptr) {
  if (constants_.bytes() > 0)
    machine.copy(constants_.data(), plan.constants.data(), constants_.bytes());
  staged_ = place_staged(plan, graph);
  staged_.host = gpu::Memory(machine, staged_.bytes(), "a batch in host memory", true);
  staged_.device = gpu::Memory(machine, staged_.host.bytes(), "a batch");
}

CudaLane::Staged CudaLane::place_staged(const Plan& plan, const Graph& graph) {
  const InputShape& data = graph.loss.data;
  BatchLayout::Bytes bytes{};
  bytes[BatchLayout::inputs] = static_cast<std::size_t>(elements(graph.input)) * sizeof(float);
  bytes[BatchLayout::labels] = static_cast<std::size_t>(data.labels) * sizeof(std::int32_t);
  bytes[BatchLayout::targets] = static_cast<std::size_t>(data.targets) * sizeof(float);
  bytes[BatchLayout::partner_labels] = bytes[BatchLayout::labels];
  bytes[BatchLayout::partner_shares] = sizeof(float);
  bytes[BatchLayout::keys] = sizeof(ShardKey);
  Staged staged;
  staged.layout = BatchLayout(1, static_cast<std::size_t>(plan.samples), bytes);
  return staged;
}

std::size_t CudaLane::staging_bytes(const Plan& plan, const Graph& graph) {
  return place_staged(plan, graph).bytes();
}

QueuedShard CudaLane::stage(const Batch& batch, float scale) {
  check_numbers(graph_.loss, batch, elements(graph_.input), graph_.loss.data.vocabulary);
  const auto n = static_cast<std::size_t>(batch.samples);
  const auto at = [&](BatchLayout::Part part) { return staged_.layout.piece(part, 0); };
  if (n < staged_.layout.samples_of_a_piece())
    std::memset(staged_.host.data(), 0, staged_.result());
  const auto put = [&](BatchLayout::Part part, const void* from) {
    if (from != nullptr)
      std::memcpy(staged_.on_host(at(part)), from, n * staged_.layout.bytes_of_sample(part));
  };
  put(BatchLayout::inputs, batch.inputs);
  if (graph_.loss.kind->of_labels) put(BatchLayout::labels, batch.labels);
  put(BatchLayout::targets, batch.targets);
  put(BatchLayout::partner_labels, batch.partner_labels);
  put(BatchLayout::partner_shares, batch.partner_shares);
  const ShardKey key{batch.seed, batch.first_sample, batch.step, batch.samples, scale};
  std::memcpy(staged_.on_host(at(BatchLayout::keys)), &key, sizeof key);
  queue_->copy(staged_.device.data(), staged_.host.data(), staged_.result());

  const auto on_gpu = [&](BatchLayout::Part part) { return staged_.on_gpu(at(part)); };
  QueuedShard shard;
  shard.inputs = reinterpret_cast<const float*>(on_gpu(BatchLayout::inputs));
  shard.labels = reinterpret_cast<const std::int32_t*>(on_gpu(BatchLayout::labels));
  shard.targets = reinterpret_cast<const float*>(on_gpu(BatchLayout::targets));
  if (batch.partner_labels != nullptr) {
    shard.partner_labels =
        reinterpret_cast<const std::int32_t*>(on_gpu(BatchLayout::partner_labels));
    shard.partner_shares = reinterpret_cast<const float*>(on_gpu(BatchLayout::partner_shares));
  }
  shard.key = reinterpret_cast<const ShardKey*>(on_gpu(BatchLayout::keys));
  shard.draw_labels = batch.draw_labels;
  shard.result = reinterpret_cast<double*>(staged_.on_gpu(staged_.result()));
  return shard;
}

ShardResult CudaLane::read_result() {
  double numbers[1 + most_sums];
  queue_->copy(staged_.on_host(staged_.result()), staged_.on_gpu(staged_.result()), sizeof numbers);
  queue_->wait();
  std::memcpy(numbers, staged_.on_host(staged_.result()), sizeof numbers);
  ShardResult result;
  result.loss_sum = numbers[0];
  std::copy(numbers + 1, numbers + 1 + most_sums, result.sums.begin());
  return result;
}

void CudaLane::bind(const QueuedShard& shard) {
  const auto base = [&](Home home) -> const void* {
    switch (home) {
      case Home::arena:
        return arena_.data();
      case Home::input:
        return shard.inputs;
      case Home::labels:
        return shard.labels;
      case Home::targets:
        return shard.targets;
      case Home::partner_labels:
        return shard.partner_labels;
      case Home::partner_shares:
        return shard.partner_shares;
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

Frame CudaLane::frame(gpu::Queue& queue, const QueuedShard& shard) const {
  return {pointers_.data(), shard.key, queue, shard.partner_labels != nullptr, shard.draw_labels};
}

void CudaLane::take_parameters(gpu::Queue& queue, const float* parameters) {
  taken_ = parameters;
  if (weights_.bytes() == 0) return;
  convert(queue, static_cast<std::int64_t>(floats_), Type::f32, parameters, Type::bf16,
          weights_.data());
}

void CudaLane::train(gpu::Queue& queue, const QueuedShard& shard, const ReadyFunction& ready) {
  bind(shard);
  const Frame at = frame(queue, shard);
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

void CudaLane::evaluate(gpu::Queue& queue, const QueuedShard& shard) {
  bind(shard);
  const Frame at = frame(queue, shard);
  for (const auto* operations : {&plan_.evaluation, &plan_.evaluation_loss})
    for (const Operation& operation : *operations)
      operation.kernel(at);
}

ShardResult CudaLane::train(const float* parameters, const Batch& batch, float scale,
                            float* gradients, float* statistics, const ReadyFunction& ready) {
  check_batch(batch, plan_.samples, true);
  QueuedShard shard = stage(batch, scale);
  shard.parameters = parameters;
  shard.gradients = gradients;
  shard.statistics = statistics;
  queue_->zero(gradients, floats_ * sizeof(float));  // the padding
  take_parameters(*queue_, parameters);
  train(*queue_, shard, ready);
  return read_result();
}

ShardResult CudaLane::evaluate(const float* parameters, const float* running, const Batch& batch) {
  check_batch(batch, plan_.samples, false);
  QueuedShard shard = stage(batch, 1);
  shard.parameters = parameters;
  shard.running = running;
  take_parameters(*queue_, parameters);
  evaluate(*queue_, shard);
  return read_result();
}

}  // namespace thalweg::engine::cuda
