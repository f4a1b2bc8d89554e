#include "engine/sync/device/gpu/shards.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/gpu/vectors.h"
#include "engine/nn/executor.h"
#include "engine/nn/graph.h"
#include "engine/sync/device/step_device.h"

namespace thalweg::engine {
GpuShards::GpuShards(const SyncParts& parts, const Options& options,
                     const std::vector<Bucket>& buckets)
    : p_(parts),
      options_(options),
      machine_(*parts.model.gpu()),
      buckets_(buckets),
      own_tree_(0, 1, parts.sharding.mine()),
      stream_(machine_.stream()),
      copies_(machine_.stream()),
      layout_(parts.batches->layout),
      ranges_(ranges_of(buckets)),
      runner_(p_.model, executor(), stream_.get(), ranges_,
              {p_.sharding.micro_batches, options_.measures}) {
  for (int i = 0; i < p_.sharding.mine(); ++i)
    work_.push_back(work_of("gradients of a shard (fewer shards on this rank take less)"));
  for (std::size_t i = 0; options_.staged && i < results(); ++i)
    copies_of_work_.push_back(work_of("gradients on their way to other ranks"));
  for (std::size_t i = 0; options_.accumulates && i < work_.size(); ++i)
    added_up_.push_back(work_of("gradients of several passes"));
  if (options_.staged) sums_stream_ = machine_.stream(true);
  if (options_.accumulates) passes_ = gpu::Memory(machine_, sizeof(float), "passes", true);
  if (p_.batches->raw)
    augment_ =
        std::make_unique<GpuAugment>(machine_, *p_.batches->raw, layout_.samples_per_micro_batch());
  for (Slot& slot : slot_) {
    slot.device = gpu::Memory(machine_, layout_.bytes(), "batches");
    slot.beside_on_host = gpu::Memory(machine_, options_.beside_bytes, "factors of a step", true);
    slot.beside = gpu::Memory(machine_, options_.beside_bytes, "factors of a step");
    slot.arrived = machine_.event();
  }
  ready_.resize(work_.size());
  for (auto& events : ready_)
    for (std::size_t b = 0; b <= buckets_.size(); ++b)
      events.push_back(machine_.event());
}

std::size_t gpu_batch_bytes(const BatchForm& batches, const Sharding& sharding) {
  const std::size_t slots = GpuShards::slots * batches.layout.bytes();
  if (!batches.raw) return slots;
  return slots + GpuAugment::bytes(*batches.raw, static_cast<std::size_t>(sharding.micro_batch()));
}

GpuShards::Options GpuShards::options_of(const SyncParts& parts, float scale,
                                         const BucketSum* sum) {
  Options options;
  options.scale = scale;
  options.sum_locally = parts.group.size() == 1 || sum != nullptr;
  options.measures = can_measure_noise(parts, sum);
  return options;
}

void wait_before_the_end(gpu::Stream& stream) noexcept {
  try {
    stream.wait();
  } catch (const std::exception&) {
  }
}

GpuShards::~GpuShards() {
  wait_before_the_end(*copies_);
  wait_before_the_end(*stream_);
  if (sums_stream_) wait_before_the_end(*sums_stream_);
}

GpuShards::Work GpuShards::work_of(const char* what) const {
  return {gpu::Memory(machine_, p_.model.parameter_floats() * sizeof(float), what),
          gpu::Memory(machine_, stat_count() * sizeof(float), "statistics and losses")};
}

void GpuShards::add_up(bool first) {
  for (std::size_t i = 0; i < work_.size(); ++i) {
    Work& into = added_up_[i];
    const Work& from = work_[i];
    if (first) {
      stream_->copy(into.gradient.data(), from.gradient.data(), from.gradient.bytes());
      stream_->copy(into.stats.data(), from.stats.data(), passes_at() * sizeof(float));
      continue;
    }
    gpu::add(*stream_, into.gradient.floats(), from.gradient.floats(), p_.model.parameter_floats());
    // The wish to stop is no pass's.
    gpu::add(*stream_, into.stats.floats(), from.stats.floats(), p_.model.statistics() + stat_stop);
  }
}

/// Of several passes each shard's are added up first, then all shards': the bits of any ranks.
void GpuShards::stage(int passes) {
  std::vector<Work>& from = options_.accumulates ? added_up_ : work_;
  if (options_.accumulates && options_.sum_locally) sum_shards(from);
  for (std::size_t i = 0; i < results(); ++i) {
    stream_->copy(gradient(i), from[i].gradient.data(), from[i].gradient.bytes());
    stream_->copy(stats(i), from[i].stats.data(), from[i].stats.bytes());
    if (i == 0 && options_.accumulates) {
      *passes_.floats() = static_cast<float>(passes);
      stream_->copy(stats(0) + passes_at() + p_.group.rank(), passes_.data(), sizeof(float));
    }
    for (const auto& event : ready_[i])
      stream_->record(*event);
  }
}

std::vector<GradientPart> GpuShards::parts() {
  std::vector<float*> gradients, all_stats;
  for (std::size_t i = 0; i < results(); ++i) {
    gradients.push_back(gradient(i));
    all_stats.push_back(stats(i));
  }
  return gradient_parts(buckets_, p_.model.parameters(), gradients, all_stats, stat_count());
}

void GpuShards::write_keys(const StepInput& input) const {
  for (std::size_t m = 0; m < layout_.micro_batches(); ++m) {
    const SamplePlace place = place_of(m, input, p_.sharding);
    ShardKey key;
    key.seed = p_.seed;
    key.step = place.step;
    key.samples = p_.sharding.micro_batch();
    key.scale = options_.scale;
    key.first_sample = place.first_sample;
    std::memcpy(input.memory + layout_.micro_batch(BatchLayout::keys, m), &key, sizeof key);
  }
}

void GpuShards::run(const StepInput& input, int kind, const std::function<void()>& rest) {
  const bool draws = input.draw_labels;
  const bool blended = !draws && layout_.bytes_of_sample(BatchLayout::labels_b) > 0;
  const float* const parameters = p_.replica.parameters.floats();
  const bool takes = narrow_parameters() != nullptr &&
                     !(narrow_ones_hold_ && executor().parameters_taken() == parameters);
  const int key = (blended ? 1 : 0) + (draws ? 2 : 0) + (takes ? 4 : 0) + 16 * kind;
  do_again(key, [&] {
    compute(slot_[slot_now_], blended, draws, takes);
    if (rest) rest();
  });
}

void GpuShards::run_captured(int kind, const std::function<void()>& work) {
  do_again(8 + 16 * kind, work);
}

void GpuShards::do_again(int key, const std::function<void()>& work) {
  // Libraries load what they need in the first pass, which a capture could not hold.
  Captured& captured = captured_[{slot_now_, key}];
  if (captured.times++ == 0) return work();
  if (!captured.graph) {
    stream_->begin_capture();
    work();
    captured.graph = stream_->end_capture();
  }
  stream_->launch(*captured.graph);
}

gpu::Bf16* GpuShards::narrow_parameters() const {
  return executor().narrow_parameters();
}

void GpuShards::take(const StepInput& input, const std::byte* beside) {
  slot_now_ = (slot_now_ + 1) % slots;
  Slot& slot = slot_[slot_now_];
  check(input.memory);
  write_keys(input);
  copies_->copy(slot.device.data(), input.memory, layout_.bytes());
  if (options_.beside_bytes > 0) {
    std::memcpy(slot.beside_on_host.data(), beside, options_.beside_bytes);
    copies_->copy(slot.beside.data(), slot.beside_on_host.data(), options_.beside_bytes);
  }
  copies_->record(*slot.arrived);
  stream_->wait_for(*slot.arrived);
}

void GpuShards::check(const std::byte* memory) const {
  const std::size_t values = layout_.bytes_of_sample(BatchLayout::inputs) / sizeof(float);
  // Raw inputs are no tokens.
  for (std::size_t m = 0; m < layout_.micro_batches(); ++m)
    check_numbers(p_.model.loss(), batch_at(layout_, memory, m), static_cast<std::int64_t>(values),
                  p_.model.loss().data.vocabulary);
}

void GpuShards::compute(const Slot& slot, bool blended, bool draw_labels, bool take_parameters) {
  if (take_parameters) executor().take_parameters(*stream_, p_.replica.parameters.floats());
  for (std::size_t shard = 0; shard < work_.size(); ++shard)
    compute_shard(shard, slot, blended, draw_labels);
  if (!options_.sum_locally || options_.accumulates || work_.size() == 1) return;
  sum_shards(work_);
  for (std::size_t b = 0; b <= buckets_.size(); ++b)
    mark(0, b);
}

void GpuShards::sum_shards(std::vector<Work>& shards) {
  for (const comm::ShardTree::Add& add : own_tree_.local) {
    Work& into = shards[static_cast<std::size_t>(add.into)];
    const Work& from = shards[static_cast<std::size_t>(add.from)];
    gpu::add(*stream_, into.gradient.floats(), from.gradient.floats(), p_.model.parameter_floats());
    gpu::add(*stream_, into.stats.floats(), from.stats.floats(), stat_count());
  }
}

void GpuShards::mark(std::size_t shard, std::size_t bucket) {
  if (options_.mark_buckets && !options_.staged) stream_->record(*ready_[shard][bucket]);
}

Shard GpuShards::micro_batch(std::size_t number, const Slot& slot, bool blended, bool draw_labels) {
  const auto* const batches = static_cast<const std::byte*>(slot.device.data());
  Shard shard;
  shard.batch = batch_at(layout_, batches, number);
  if (augment_) augment_->run(*stream_, layout_, batches, number);
  if (augment_) shard.batch.inputs = augment_->inputs();
  if (!blended) shard.batch.labels_b = nullptr;
  shard.batch.draw_labels = draw_labels;
  shard.key = key_at(layout_, batches, number);
  shard.parameters = p_.replica.parameters.floats();
  return shard;
}

void GpuShards::compute_shard(std::size_t shard, const Slot& slot, bool blended, bool draw_labels) {
  const bool own_marks = !options_.sum_locally || work_.size() == 1;
  ShardRunner::Task task;
  task.sums = {work_[shard].gradient.floats(), work_[shard].stats.floats()};
  task.number = shard * static_cast<std::size_t>(p_.sharding.micro_batches);
  // The work of a captured graph is always the same: the first micro-batch of all is measured.
  if (options_.measures && p_.sharding.first == 0 && shard == 0) task.measured = 0;
  task.batch = [&](std::size_t number) { return micro_batch(number, slot, blended, draw_labels); };
  if (own_marks) task.complete = [&](std::size_t bucket) { mark(shard, bucket); };
  runner_.run(task);
  if (own_marks) mark(shard, buckets_.size());
}

}  // namespace thalweg::engine
