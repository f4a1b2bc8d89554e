#include "engine/sync/gpu_evaluation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/nn/graph.h"
#include "engine/nn/lane.h"

namespace thalweg::engine {
namespace {

constexpr std::size_t kResultBytes = (1 + most_sums) * sizeof(double);

}  // namespace

BatchForm GpuEvaluation::form_of(const Dataset& dataset, int samples) {
  return gpu_batches(dataset, nullptr, nullptr, 1, static_cast<std::size_t>(samples),
                     sizeof(ShardKey));
}

GpuEvaluation::GpuEvaluation(gpu::Gpu& machine, const Dataset& dataset, const LossPlan& loss,
                             int samples)
    : dataset_(dataset),
      loss_(loss),
      samples_(samples),
      form_(form_of(dataset, samples)),
      queue_(machine.queue()),
      copies_(machine.queue()),
      result_(machine, kResultBytes, "a loss") {
  if (form_.raw)
    augment_ = std::make_unique<GpuAugment>(machine, *form_.raw, static_cast<std::size_t>(samples));
  for (Slot& slot : slots_) {
    slot.host = gpu::Memory(machine, form_.layout.bytes(), "samples in host memory", true);
    slot.device = gpu::Memory(machine, form_.layout.bytes(), "samples to validate");
    slot.result = gpu::Memory(machine, kResultBytes, "a loss", true);
    slot.arrived = machine.event(false);
    slot.done = machine.event(false);
  }
}

GpuEvaluation::~GpuEvaluation() {
  // Memory must outlive the work that uses it.
  try {
    copies_->wait();
    queue_->wait();
  } catch (const gpu::GpuError&) {
    // It has been told to whoever ran it.
  }
}

std::size_t GpuEvaluation::bytes(const Dataset& dataset, int samples) {
  const BatchForm form = form_of(dataset, samples);
  return kSlots * form.layout.bytes() +
         (form.raw ? GpuAugment::bytes(*form.raw, static_cast<std::size_t>(samples)) : 0);
}

void GpuEvaluation::run(QueuedLane& lane, const float* parameters, const float* running,
                        const std::vector<std::uint32_t>& samples, int first, int end,
                        const Tell& tell) {
  lane.take_parameters(*queue_, parameters);
  for (Slot& slot : slots_)
    slot.chunk = -1;  // of a run that threw
  for (int chunk = first; chunk < end; ++chunk) {
    Slot& slot = slots_[static_cast<std::size_t>(chunk) % kSlots];
    settle(slot, tell);
    ShardKey key;
    key.samples = fill(slot, samples, chunk);
    std::memcpy(
        static_cast<std::byte*>(slot.host.data()) + form_.layout.piece(BatchLayout::keys, 0), &key,
        sizeof key);
    put(slot, lane, parameters, running);
    slot.chunk = chunk;
  }
  for (int chunk = end; chunk < end + static_cast<int>(kSlots); ++chunk)
    settle(slots_[static_cast<std::size_t>(chunk) % kSlots], tell);
}

/// Returns how many samples the chunk has; what stands behind them is not looked at.
int GpuEvaluation::fill(Slot& slot, const std::vector<std::uint32_t>& samples, int chunk) const {
  const SampleForm& form = dataset_.form();
  auto* const memory = static_cast<std::byte*>(slot.host.data());
  const auto begin = static_cast<std::size_t>(chunk) * static_cast<std::size_t>(samples_);
  const std::size_t count = std::min(static_cast<std::size_t>(samples_), samples.size() - begin);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [&](BatchLayout::Part part) { return memory + form_.layout.sample(part, i); };
    const std::uint32_t sample = samples[begin + i];
    if (form_.raw)
      std::memcpy(at(BatchLayout::inputs), dataset_.stored_sample(sample),
                  form_.layout.bytes_of_sample(BatchLayout::inputs));
    else
      dataset_.copy(sample, reinterpret_cast<float*>(at(BatchLayout::inputs)));
    if (form.labels > 0)
      dataset_.copy_labels(sample, reinterpret_cast<std::int32_t*>(at(BatchLayout::labels)));
    if (form.targets > 0)
      dataset_.copy_targets(sample, reinterpret_cast<float*>(at(BatchLayout::targets)));
  }
  Batch batch;
  batch.inputs =
      reinterpret_cast<const float*>(memory + form_.layout.piece(BatchLayout::inputs, 0));
  batch.labels =
      reinterpret_cast<const std::int32_t*>(memory + form_.layout.piece(BatchLayout::labels, 0));
  batch.samples = static_cast<int>(count);
  check_numbers(loss_, batch, static_cast<std::int64_t>(input_floats(form)), loss_.data.vocabulary);
  return batch.samples;
}

void GpuEvaluation::put(Slot& slot, QueuedLane& lane, const float* parameters,
                        const float* running) {
  copies_->copy(slot.device.data(), slot.host.data(), form_.layout.bytes());
  copies_->record(*slot.arrived);
  queue_->wait_for(*slot.arrived);
  const auto* const batch = static_cast<const std::byte*>(slot.device.data());
  const auto at = [&](BatchLayout::Part part) { return batch + form_.layout.piece(part, 0); };
  if (augment_) augment_->run(*queue_, form_.layout, batch, 0);
  QueuedShard shard;
  shard.parameters = parameters;
  shard.running = running;
  shard.inputs =
      augment_ ? augment_->inputs() : reinterpret_cast<const float*>(at(BatchLayout::inputs));
  shard.labels = reinterpret_cast<const std::int32_t*>(at(BatchLayout::labels));
  shard.targets = reinterpret_cast<const float*>(at(BatchLayout::targets));
  shard.key = reinterpret_cast<const ShardKey*>(at(BatchLayout::keys));
  shard.result = static_cast<double*>(result_.data());
  lane.evaluate(*queue_, shard);
  queue_->copy(slot.result.data(), result_.data(), kResultBytes);
  queue_->record(*slot.done);
}

void GpuEvaluation::settle(Slot& slot, const Tell& tell) {
  const int chunk = std::exchange(slot.chunk, -1);
  if (chunk < 0) return;
  slot.done->wait();
  const auto* const numbers = static_cast<const double*>(slot.result.data());
  ShardResult result;
  result.loss_sum = numbers[0];
  std::copy(numbers + 1, numbers + 1 + most_sums, result.sums.begin());
  tell(chunk, result);
}

}  // namespace thalweg::engine
