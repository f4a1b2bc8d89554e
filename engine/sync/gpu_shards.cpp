#include "engine/sync/gpu_shards.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/gpu/vectors.h"
#include "engine/nn/graph.h"
#include "engine/nn/lane.h"
#include "engine/optim/on_gpu.h"

namespace thalweg::engine {
namespace {

/// What is worth a copy of its own while the rest of a batch is still put together.
constexpr std::size_t kStretch = std::size_t{16} << 20;

/// A batch of volumes is hundreds of MiB: one core would copy it more slowly than a GPU computes.
void copy_by_threads(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t piece = kStretch / 4;
  const auto pieces = static_cast<std::int64_t>((bytes + piece - 1) / piece);
  const int threads = static_cast<int>(std::clamp<std::int64_t>(pieces, 1, 4));
#pragma omp parallel for num_threads(threads) if (threads > 1)
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::size_t first = static_cast<std::size_t>(i) * piece;
    std::memcpy(to + first, from + first, std::min(piece, bytes - first));
  }
}

}  // namespace

GpuShards::GpuShards(const SyncParts& parts, const Options& options,
                     const std::vector<Bucket>& buckets)
    : p_(parts),
      options_(options),
      machine_(*parts.model.gpu()),
      buckets_(buckets),
      own_tree_(0, 1, parts.sharding.mine()),
      queue_(machine_.queue()),
      copies_(machine_.queue()),
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

std::size_t GpuShards::micro_batches() const {
  return static_cast<std::size_t>(p_.sharding.mine() * p_.sharding.micro_batches);
}

void GpuShards::place(const StepInput& input) {
  const auto samples = static_cast<std::size_t>(p_.sharding.micro_batch());
  if (input.memory != nullptr) {
    layout_ = p_.batches->layout;
    if (p_.batches->raw)
      augment_ = std::make_unique<GpuAugment>(machine_, *p_.batches->raw, samples);
  } else {
    BatchLayout::Bytes bytes{};
    bytes[BatchLayout::inputs] = input.sample_floats * sizeof(float);
    bytes[BatchLayout::labels] = input.sample_labels * sizeof(std::int32_t);
    bytes[BatchLayout::targets] = input.sample_targets * sizeof(float);
    bytes[BatchLayout::partner_labels] = bytes[BatchLayout::labels];
    bytes[BatchLayout::partner_shares] = sizeof(float);
    bytes[BatchLayout::keys] = sizeof(ShardKey);
    layout_ = BatchLayout(micro_batches(), samples, bytes);
  }
  for (Slot& slot : slot_) {
    if (input.memory == nullptr)
      slot.host = gpu::Memory(machine_, layout_.bytes(), "batches in host memory", true);
    slot.device = gpu::Memory(machine_, layout_.bytes(), "batches");
    slot.beside_on_host = gpu::Memory(machine_, options_.beside_bytes, "factors of a step", true);
    slot.beside = gpu::Memory(machine_, options_.beside_bytes, "factors of a step");
    slot.arrived = machine_.event();
  }
}

/// Puts the batch into pinned memory; stretches of it go to the GPU as soon as they are there.
/// Returns how many bytes are on their way.
std::size_t GpuShards::fill(const Slot& slot, const StepInput& input) {
  auto* const memory = static_cast<std::byte*>(slot.host.data());
  std::size_t sent = 0;
  const auto put = [&](BatchLayout::Part part, const void* from) {
    const std::size_t bytes = layout_.samples_of_a_piece() * layout_.bytes_of_sample(part);
    if (from == nullptr) return;
    for (std::size_t m = 0; m < layout_.pieces(); ++m)
      for (std::size_t first = 0; first < bytes; first += kStretch) {
        const std::size_t begin = layout_.piece(part, m) + first;
        const std::size_t end = begin + std::min(kStretch, bytes - first);
        copy_by_threads(memory + begin, static_cast<const std::byte*>(from) + m * bytes + first,
                        end - begin);
        if (end - sent >= kStretch) sent = send(slot, memory, sent, end);
      }
  };
  put(BatchLayout::inputs, input.inputs);
  put(BatchLayout::labels, input.labels);
  put(BatchLayout::targets, input.targets);
  put(BatchLayout::partner_labels, input.partner_labels);
  put(BatchLayout::partner_shares, input.partner_shares);
  return sent;
}

std::size_t GpuShards::send(const Slot& slot, const std::byte* memory, std::size_t begin,
                            std::size_t end) {
  copies_->copy(static_cast<std::byte*>(slot.device.data()) + begin, memory + begin, end - begin);
  return end;
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
  const bool draws = input.draw_labels, blended = blends(input) && !draws;
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

bool GpuShards::blends(const StepInput& input) const {
  if (input.memory == nullptr) return input.partner_labels != nullptr;
  return layout_.bytes_of_sample(BatchLayout::partner_labels) > 0;
}

void GpuShards::take(const StepInput& input, const std::byte* beside) {
  if (!slot_[0].arrived) place(input);
  slot_now_ = (slot_now_ + 1) % slots;
  Slot& slot = slot_[slot_now_];
  std::byte* memory = input.memory;
  std::size_t sent = 0;
  if (memory == nullptr) {
    memory = static_cast<std::byte*>(slot.host.data());
    sent = fill(slot, input);
  }
  check(memory, blends(input));
  write_keys(memory, input.context);
  send(slot, memory, sent, layout_.bytes());
  if (options_.beside_bytes > 0) {
    std::memcpy(slot.beside_on_host.data(), beside, options_.beside_bytes);
    copies_->copy(slot.beside.data(), slot.beside_on_host.data(), options_.beside_bytes);
  }
  copies_->record(*slot.arrived);
  queue_->wait_for(*slot.arrived);
}

void GpuShards::check(const std::byte* memory, bool blended) const {
  for (std::size_t m = 0; m < layout_.pieces(); ++m) {
    Batch batch = batch_at(layout_, memory, m);
    if (!blended) batch.partner_labels = nullptr;
    const std::size_t values = layout_.bytes_of_sample(BatchLayout::inputs) / sizeof(float);
    // Raw inputs are no tokens.
    check_numbers(p_.model.loss(), batch, static_cast<std::int64_t>(values),
                  p_.model.loss().data.vocabulary);
  }
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
