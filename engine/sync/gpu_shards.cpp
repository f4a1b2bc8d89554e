#include "engine/sync/gpu_shards.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/gpu/vectors.h"
#include "engine/nn/graph.h"
#include "engine/nn/lane.h"
#include "engine/optim/on_gpu.h"

namespace thalweg::engine {
GpuShards::GpuShards(const SyncParts& parts, const Options& options,
                     const std::vector<Bucket>& buckets)
    : p_(parts),
      options_(options),
      machine_(*parts.model.gpu()),
      buckets_(buckets),
      own_tree_(0, 1, parts.sharding.mine()),
      queue_(machine_.queue()),
      copies_(machine_.queue()),
      layout_(parts.batches->layout),
      bucket_of_(parts.model.parameters().size()),
      left_(buckets.size()) {
  const std::size_t floats = p_.model.parameter_floats();
  const auto work = [&](const char* what) {
    return Work{gpu::Memory(machine_, floats * sizeof(float), what),
                gpu::Memory(machine_, extra_count() * sizeof(float), "statistics and losses")};
  };
  for (int i = 0; i < p_.sharding.mine(); ++i)
    work_.push_back(work("gradients of a shard (fewer shards on this rank take less)"));
  for (std::size_t i = 0; i < spare_sums(p_.sharding.micro_batches); ++i)
    scratch_.push_back(work("gradients of micro-batches"));
  result_ = gpu::Memory(machine_, sizeof(ShardResult), "a loss");
  if (options_.measures) {
    sums_ = std::make_unique<optim::GradientSums>(machine_, p_.model.parameters());
    squares_ = gpu::Memory(machine_, p_.model.parameters().size() * sizeof(double), "squares");
  }
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (const int number : buckets_[b].parameters)
      bucket_of_[static_cast<std::size_t>(number)] = b;
  if (p_.batches->raw)
    augment_ =
        std::make_unique<GpuAugment>(machine_, *p_.batches->raw, layout_.samples_of_a_piece());
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

void wait_before_the_end(gpu::Queue& queue) noexcept {
  try {
    queue.wait();
  } catch (const std::exception&) {
  }
}

GpuShards::~GpuShards() {
  wait_before_the_end(*copies_);
  wait_before_the_end(*queue_);
}

std::vector<GradientPart> GpuShards::parts() {
  std::vector<float*> gradients, extras;
  for (std::size_t i = 0; i < results(); ++i) {
    gradients.push_back(gradient(i));
    extras.push_back(extra(i));
  }
  return gradient_parts(buckets_, p_.model.parameters(), gradients, extras, extra_count());
}

void GpuShards::write_keys(std::byte* memory, const StepContext& context) const {
  for (std::size_t m = 0; m < layout_.pieces(); ++m) {
    ShardKey key;
    key.seed = p_.seed;
    key.step = static_cast<std::uint32_t>(context.step);
    key.samples = p_.sharding.micro_batch();
    key.scale = options_.scale;
    key.first_sample = p_.sharding.first_sample(m);
    std::memcpy(memory + layout_.piece(BatchLayout::keys, m), &key, sizeof key);
  }
}

void GpuShards::run(const StepInput& input, int kind, const std::function<void()>& rest) {
  const bool draws = input.draw_labels;
  const bool blended = !draws && layout_.bytes_of_sample(BatchLayout::partner_labels) > 0;
  const float* const parameters = p_.replica.parameters.floats();
  const bool takes = narrow_parameters() != nullptr &&
                     !(narrow_ones_hold_ && lane().parameters_taken() == parameters);
  const int key = (blended ? 1 : 0) + (draws ? 2 : 0) + (takes ? 4 : 0) + 16 * kind;
  do_again(key, [&] {
    compute(slot_[slot_now_], blended, draws, takes);
    if (rest) rest();
  });
}

void GpuShards::run_recorded(int kind, const std::function<void()>& work) {
  do_again(8 + 16 * kind, work);
}

void GpuShards::do_again(int key, const std::function<void()>& work) {
  // Libraries load what they need in the first pass, which a recording could not hold.
  Recorded& recorded = recorded_[{slot_now_, key}];
  if (recorded.times++ == 0) return work();
  if (!recorded.recording) {
    queue_->begin_recording();
    work();
    recorded.recording = queue_->end_recording();
  }
  queue_->launch(*recorded.recording);
}

gpu::Bf16* GpuShards::narrow_parameters() const {
  return lane().narrow_parameters();
}

void GpuShards::take(const StepInput& input, const std::byte* beside) {
  slot_now_ = (slot_now_ + 1) % slots;
  Slot& slot = slot_[slot_now_];
  check(input.memory);
  write_keys(input.memory, input.context);
  copies_->copy(slot.device.data(), input.memory, layout_.bytes());
  if (options_.beside_bytes > 0) {
    std::memcpy(slot.beside_on_host.data(), beside, options_.beside_bytes);
    copies_->copy(slot.beside.data(), slot.beside_on_host.data(), options_.beside_bytes);
  }
  copies_->record(*slot.arrived);
  queue_->wait_for(*slot.arrived);
}

void GpuShards::check(const std::byte* memory) const {
  const std::size_t values = layout_.bytes_of_sample(BatchLayout::inputs) / sizeof(float);
  // Raw inputs are no tokens.
  for (std::size_t m = 0; m < layout_.pieces(); ++m)
    check_numbers(p_.model.loss(), batch_at(layout_, memory, m), static_cast<std::int64_t>(values),
                  p_.model.loss().data.vocabulary);
}

void GpuShards::compute(const Slot& slot, bool blended, bool draw_labels, bool take_parameters) {
  if (take_parameters) lane().take_parameters(*queue_, p_.replica.parameters.floats());
  for (std::size_t shard = 0; shard < work_.size(); ++shard)
    compute_shard(shard, slot, blended, draw_labels);
  if (!options_.sum_locally || work_.size() == 1) return;
  for (const comm::ShardTree::Add& add : own_tree_.local) {
    Work& into = work_[static_cast<std::size_t>(add.into)];
    const Work& from = work_[static_cast<std::size_t>(add.from)];
    gpu::add(*queue_, into.gradient.floats(), from.gradient.floats(), p_.model.parameter_floats());
    gpu::add(*queue_, into.extra.floats(), from.extra.floats(), extra_count());
  }
  for (std::size_t b = 0; b <= buckets_.size(); ++b)
    mark(0, b);
}

void GpuShards::mark(std::size_t shard, std::size_t bucket) {
  if (options_.mark_buckets) queue_->record(*ready_[shard][bucket]);
}

void GpuShards::add_squares(std::size_t bucket, const float* gradient) {
  std::vector<int> members = buckets_[bucket].parameters;
  std::sort(members.begin(), members.end());
  for (std::size_t first = 0, next = 0; first < members.size(); first = next) {
    for (next = first + 1; next < members.size() && members[next] == members[next - 1] + 1;)
      ++next;
    sums_->add_squares(*queue_, gradient, members[first], members[next - 1] + 1);
  }
}

Shard GpuShards::micro_batch(std::size_t number, const Slot& slot, bool blended, bool draw_labels,
                             Work& into) {
  Shard shard;
  shard.batch = batch_at(layout_, static_cast<const std::byte*>(slot.device.data()), number);
  if (augment_) shard.batch.inputs = augment_->inputs();
  if (!blended) shard.batch.partner_labels = nullptr;
  shard.batch.draw_labels = draw_labels;
  shard.key = key_at(layout_, static_cast<const std::byte*>(slot.device.data()), number);
  shard.parameters = p_.replica.parameters.floats();
  shard.gradients = into.gradient.floats();
  shard.statistics = into.extra.floats();
  shard.result = static_cast<ShardResult*>(result_.data());
  return shard;
}

void GpuShards::compute_shard(std::size_t shard, const Slot& slot, bool blended, bool draw_labels) {
  const int pieces = p_.sharding.micro_batches;
  const std::size_t floats = p_.model.parameter_floats();
  const bool own_marks = !options_.sum_locally || work_.size() == 1;
  std::vector<Work*> open{&work_[shard]};
  for (Work& scratch : scratch_)
    open.push_back(&scratch);
  const auto add = [&](std::size_t into, std::size_t offset, std::size_t count) {
    gpu::add(*queue_, open[into]->gradient.floats() + offset,
             open[into + 1]->gradient.floats() + offset, count);
  };
  const auto compute = [&](int micro, std::size_t top) {
    const std::size_t number =
        shard * static_cast<std::size_t>(pieces) + static_cast<std::size_t>(micro);
    Work& target = *open[top];
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      left_[b] = buckets_[b].parameters.size();
    const bool measured = options_.measures && p_.sharding.first == 0 && shard == 0 && micro == 0;
    // In the last micro-batch a bucket is complete as soon as its last gradient is. What is marked
    // may be overwritten with its sum from then on.
    const bool at_once = own_marks && micro + 1 == pieces;
    const auto ready = [&](int parameter) {
      const std::size_t bucket = bucket_of_[static_cast<std::size_t>(parameter)];
      if (--left_[bucket] > 0 || !at_once) return;
      if (measured) add_squares(bucket, target.gradient.floats());
      for (std::size_t into = top; into-- > 0;)
        add(into, buckets_[bucket].offset, buckets_[bucket].count);
      mark(shard, bucket);
    };
    if (augment_)
      augment_->run(*queue_, layout_, static_cast<const std::byte*>(slot.device.data()), number);
    lane().train(queue_.get(), micro_batch(number, slot, blended, draw_labels, target), ready);
    tell_loss(target, measured, at_once);
  };
  add_up_micro_batches(pieces, compute, [&](std::size_t into, bool last) {
    if (!last || !own_marks) add(into, 0, floats);
    gpu::add(*queue_, open[into]->extra.floats(), open[into + 1]->extra.floats(), extra_count());
  });
  if (own_marks) mark(shard, buckets_.size());
}

/// `added`: the gradient's squares, where it is measured, have been added up as it came.
void GpuShards::tell_loss(Work& of, bool measured, bool added) {
  float* const extra = of.extra.floats() + p_.model.statistics();
  gpu::narrow(*queue_, extra + extra_loss, static_cast<const double*>(result_.data()), 1);
  if (!measured) return queue_->zero(extra + extra_squares, sizeof(float));
  const std::size_t parameters = p_.model.parameters().size();
  if (!added) sums_->add_squares(*queue_, of.gradient.floats(), 0, static_cast<int>(parameters));
  sums_->take_squares(*queue_, static_cast<double*>(squares_.data()));
  gpu::sum(*queue_, extra + extra_squares, static_cast<const double*>(squares_.data()), parameters);
}

}  // namespace thalweg::engine
