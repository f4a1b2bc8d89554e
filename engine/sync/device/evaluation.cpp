#include "engine/sync/device/evaluation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/nn/executor.h"
#include "engine/nn/graph.h"
#include "engine/sync/device/flat_vector.h"
#include "engine/sync/device/gpu/shards.h"

namespace thalweg::engine {
namespace {

BatchForm form_of(bool on_gpu, const Dataset& dataset, int samples) {
  const auto count = static_cast<std::size_t>(samples);
  return on_gpu ? gpu_batches(dataset, nullptr, nullptr, 1, count, sizeof(ShardKey))
                : host_batches(dataset.form(), nullptr, count);
}

}  // namespace

Evaluation::Evaluation(const Model& model, const Dataset& dataset, ExecutorPool& executors,
                       int samples)
    : model_(model),
      dataset_(dataset),
      executors_(executors),
      machine_(model.gpu()),
      samples_(samples),
      form_(form_of(machine_ != nullptr, dataset, samples)) {
  for (int executor = 0; executor < executors.threads(); ++executor)
    workspaces_.push_back(make_workspace());
}

Evaluation::Workspace Evaluation::make_workspace() const {
  Workspace workspace;
  const std::size_t bytes = form_.layout.bytes();
  if (machine_ == nullptr) {
    workspace.slots.resize(1);
    workspace.slots[0].buffer = Buffer(bytes);
    return workspace;
  }
  workspace.slots.resize(kSlotsOfGpu);
  workspace.stream = machine_->stream();
  workspace.copies = machine_->stream();
  workspace.result = gpu::Memory(*machine_, sizeof(ShardResult), "a loss");
  if (form_.raw)
    workspace.augment =
        std::make_unique<GpuAugment>(*machine_, *form_.raw, static_cast<std::size_t>(samples_));
  for (Slot& slot : workspace.slots) {
    slot.pinned = gpu::Memory(*machine_, bytes, "samples in host memory", true);
    slot.device = gpu::Memory(*machine_, bytes, "samples to validate");
    slot.told = gpu::Memory(*machine_, sizeof(ShardResult), "a loss", true);
    slot.arrived = machine_->event(false);
    slot.done = machine_->event(false);
  }
  return workspace;
}

Evaluation::~Evaluation() {
  // Memory must outlive the work that uses it.
  for (Workspace& workspace : workspaces_)
    for (const auto* stream : {&workspace.copies, &workspace.stream})
      if (*stream) wait_before_the_end(**stream);
}

std::size_t Evaluation::gpu_bytes(const Dataset& dataset, int samples) {
  const BatchForm form = form_of(true, dataset, samples);
  return kSlotsOfGpu * form.layout.bytes() +
         (form.raw ? GpuAugment::bytes(*form.raw, static_cast<std::size_t>(samples)) : 0);
}

void Evaluation::run(const float* parameters, const float* running,
                     std::span<const std::uint32_t> samples, int first, int end, const Tell& tell) {
  for (std::size_t executor = 0; executor < workspaces_.size(); ++executor) {
    Workspace& workspace = workspaces_[executor];
    for (Slot& slot : workspace.slots)
      slot.chunk = -1;  // of a run that threw
    if (workspace.stream)
      executors_.executor(executor).take_parameters(*workspace.stream, parameters);
  }
  const auto size = static_cast<std::size_t>(samples_);
  executors_.run(end - first, [&](int task, Executor& executor) {
    Workspace& workspace = workspaces_[executors_.number_of(executor)];
    Slot& slot = workspace.next_slot();
    settle(slot, tell);
    const std::size_t begin = static_cast<std::size_t>(first + task) * size;
    Shard shard =
        send(workspace, slot, samples.subspan(begin, std::min(size, samples.size() - begin)), 0, 1);
    shard.parameters = parameters;
    shard.running = running;
    executor.evaluate(workspace.stream.get(), shard);
    slot.chunk = first + task;
    if (!workspace.stream) return;
    workspace.stream->copy(slot.told.data(), workspace.result.data(), sizeof(ShardResult));
    workspace.stream->record(*slot.done);
  });
  for (Workspace& workspace : workspaces_)
    for (std::size_t i = 0; i < workspace.slots.size(); ++i)
      settle(workspace.next_slot(), tell);
}

void Evaluation::measure(const float* parameters, int first, int end, const Choose& choose,
                         const TellStatistics& tell) {
  executors_.run(end - first, [&](int task, Executor& executor) {
    Workspace& workspace = workspaces_[executors_.number_of(executor)];
    const int chunk = first + task;
    FlatVector statistics(machine_, model_.statistics(), "statistics");
    FlatVector gradients(machine_, model_.parameter_floats(), "gradients that are not needed");
    const auto first_sample =
        static_cast<std::uint64_t>(chunk) * static_cast<std::uint64_t>(samples_);
    Shard shard = send(workspace, workspace.next_slot(), choose(chunk), first_sample, 0);
    shard.parameters = parameters;
    shard.statistics = statistics.floats();
    shard.gradients = gradients.floats();
    if (workspace.stream) executor.take_parameters(*workspace.stream, parameters);
    executor.train(workspace.stream.get(), shard, {});
    if (workspace.stream) workspace.stream->wait();
    tell(chunk, statistics.read());
  });
}

/// What stands behind the samples of a smaller chunk is not looked at.
void Evaluation::fill(std::byte* memory, std::span<const std::uint32_t> samples) const {
  const SampleForm& form = dataset_.form();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto at = [&](BatchLayout::Part part) { return memory + form_.layout.sample(part, i); };
    if (form_.raw)
      std::memcpy(at(BatchLayout::inputs), dataset_.stored_sample(samples[i]),
                  form_.layout.bytes_of_sample(BatchLayout::inputs));
    else
      dataset_.copy(samples[i], reinterpret_cast<float*>(at(BatchLayout::inputs)));
    if (form.labels > 0)
      dataset_.copy_labels(samples[i], reinterpret_cast<std::int32_t*>(at(BatchLayout::labels)));
    if (form.targets > 0)
      dataset_.copy_targets(samples[i], reinterpret_cast<float*>(at(BatchLayout::targets)));
  }
  Batch batch = batch_at(form_.layout, memory, 0);
  batch.samples = static_cast<int>(samples.size());
  check_numbers(model_.loss(), batch, static_cast<std::int64_t>(input_floats(form)),
                model_.loss().data.vocabulary);
}

Shard Evaluation::send(Workspace& workspace, Slot& slot, std::span<const std::uint32_t> samples,
                       std::uint64_t first_sample, float scale) const {
  auto* memory =
      static_cast<std::byte*>(machine_ != nullptr ? slot.pinned.data() : slot.buffer.data());
  fill(memory, samples);
  const auto count = static_cast<int>(samples.size());
  Shard shard;
  shard.scale = scale;
  shard.result = &slot.result;
  if (machine_ != nullptr) {
    const ShardKey key{0, first_sample, 0, count, scale};
    std::memcpy(memory + form_.layout.micro_batch(BatchLayout::keys, 0), &key, sizeof key);
    workspace.copies->copy(slot.device.data(), memory, form_.layout.bytes());
    workspace.copies->record(*slot.arrived);
    workspace.stream->wait_for(*slot.arrived);
    memory = static_cast<std::byte*>(slot.device.data());
    shard.key = key_at(form_.layout, memory, 0);
    shard.result = static_cast<ShardResult*>(workspace.result.data());
  }
  shard.batch = batch_at(form_.layout, memory, 0);
  shard.batch.samples = count;
  shard.batch.first_sample = first_sample;
  shard.batch.round = executors_.round();
  if (workspace.augment) {
    workspace.augment->run(*workspace.stream, form_.layout, memory, 0);
    shard.batch.inputs = workspace.augment->inputs();
  }
  return shard;
}

void Evaluation::settle(Slot& slot, const Tell& tell) {
  const int chunk = std::exchange(slot.chunk, -1);
  if (chunk < 0) return;
  if (slot.done) {
    slot.done->wait();
    std::memcpy(&slot.result, slot.told.data(), sizeof slot.result);
  }
  tell(chunk, slot.result);
}

}  // namespace thalweg::engine
