// A bounded ring of batches between the preparing threads and the trainer.
#include "engine/data/loader.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/data/order.h"

namespace thalweg::engine {
namespace {

std::size_t labels_of(const Dataset& dataset) {
  return static_cast<std::size_t>(dataset.form().labels);
}
std::size_t targets_of(const Dataset& dataset) {
  return static_cast<std::size_t>(dataset.form().targets);
}

/// Batches handed out whose samples can be told, on demand.
constexpr std::int64_t kRemembered = 16;

}  // namespace

Loader::Loader(const Dataset& dataset, std::vector<std::uint32_t> training, const LoaderPlan& plan)
    : dataset_(dataset),
      training_(std::move(training)),
      plan_(plan),
      sample_floats_(input_floats(dataset.form())),
      begun_(plan.first_step),
      taken_(plan.first_step) {
  if (plan.shards > 0) plan_.end_step = plan.first_step;  // until somebody wants more
  steps_per_epoch_ = static_cast<std::int64_t>(training_.size() / plan.global_batch);
  if (steps_per_epoch_ < 1)
    throw std::invalid_argument("batch.global: " + std::to_string(plan.global_batch) +
                                " is more than the " + std::to_string(training_.size()) +
                                " training samples");
  place_slots();
  if (plan.workers == 0) own_ = workspace();
  try {
    for (int i = 0; i < plan.workers; ++i)
      workers_.emplace_back([this] { prepare(); });
  } catch (...) {
    stop();
    throw;
  }
}

void Loader::place_slots() {
  BatchForm& form = plan_.form;
  if (form.layout.micro_batches() == 0)
    form = host_batches(dataset_.form(), plan_.mixer, plan_.positions);
  const BatchLayout& layout = form.layout;
  if (layout.micro_batches() * layout.samples_per_micro_batch() != plan_.positions)
    throw std::logic_error("the micro-batches of a batch are not its positions");
  // More than prepared ahead: the trainer still reads those it was handed.
  slots_.resize(static_cast<std::size_t>(plan_.ahead + plan_.kept));
  for (PreparedBatch& slot : slots_) {
    slot.memory = plan_.memory
                      ? plan_.memory(layout.bytes())
                      : static_cast<std::byte*>(own_memory_.emplace_back(layout.bytes()).data());
    if (layout.micro_batches() > 1 || form.raw) continue;
    const auto part = [&]<class T>(std::span<const T>& numbers, BatchLayout::Part which) {
      numbers = {reinterpret_cast<const T*>(slot.memory + layout.micro_batch(which, 0)),
                 plan_.positions * layout.bytes_of_sample(which) / sizeof(T)};
    };
    part(slot.inputs, BatchLayout::inputs);
    part(slot.labels, BatchLayout::labels);
    part(slot.targets, BatchLayout::targets);
    part(slot.labels_b, BatchLayout::labels_b);
    part(slot.shares_b, BatchLayout::shares_b);
  }
}

Loader::~Loader() {
  stop();
}

void Loader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

const PreparedBatch& Loader::next() {
  std::unique_lock lock(mutex_);
  if (taken_ >= plan_.end_step) throw std::logic_error("no batch after the last step");
  const std::int64_t step = taken_;
  ++taken_;  // frees the slot of a batch handed out before
  while (!wanted_.empty() && wanted_.begin()->first + kRemembered < taken_)
    wanted_.erase(wanted_.begin());
  if (plan_.workers == 0) return prepare_now(step);
  changed_.notify_all();
  changed_.wait(lock, [&] { return slot(step).step == step || errors_.contains(step); });
  if (errors_.contains(step)) std::rethrow_exception(errors_.at(step));
  return slot(step);
}

void Loader::want(Shards shards) {
  if (shards.size() * shard_samples() != plan_.positions)
    throw std::logic_error("what is wanted is not a batch");
  const std::lock_guard lock(mutex_);
  wanted_.emplace(plan_.end_step++, std::move(shards));
  changed_.notify_all();
}

/// Waits for a step whose slot is free; false where there is none any more.
bool Loader::take_step(std::int64_t& step, Shards& shards) {
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return begun_ >= plan_.end_step; };
  // Slot step % slots was last used by step - slots, which must no longer be in the trainer's
  // hands: the last `kept` steps are.
  changed_.wait(lock, [&] {
    if (stop_ || ended()) return stop_ || plan_.shards == 0;
    return begun_ - static_cast<std::int64_t>(slots_.size()) < taken_ - plan_.kept;
  });
  if (stop_ || ended()) return false;
  step = begun_++;
  if (plan_.shards > 0) shards = wanted_.at(step);
  return true;
}

PreparedBatch& Loader::prepare_now(std::int64_t step) {
  fill(slot(step), step, plan_.shards > 0 ? wanted_.at(step) : Shards(), own_);
  slot(step).step = step;
  return slot(step);
}

Loader::Workspace Loader::workspace() const {
  Workspace workspace;
  if (plan_.augmenter != nullptr) workspace.original.resize(sample_floats_);
  if (plan_.mixer != nullptr) workspace.inputs_b.resize(sample_floats_);
  workspace.targets_b.resize(targets_of(dataset_));
  workspace.labels_b.resize(labels_of(dataset_));
  return workspace;
}

void Loader::prepare() {
  Workspace workspace = this->workspace();
  Shards shards;
  for (std::int64_t step = 0; take_step(step, shards);) {
    std::exception_ptr error;
    try {
      fill(slot(step), step, shards, workspace);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (error)
      errors_.emplace(step, error);
    else
      slot(step).step = step;
    changed_.notify_all();
    if (error) return;
  }
}

std::vector<std::uint32_t> Loader::order_in(std::int64_t epoch) const {
  const std::int64_t round = plan_.shuffle_once ? 0 : epoch;
  return permutation(plan_.seed, Stream::shuffle, static_cast<std::uint32_t>(round),
                     training_.size());
}

const std::vector<std::uint32_t>& Loader::order_of(std::int64_t epoch, Workspace& workspace) const {
  if (plan_.shuffle_once) epoch = 0;
  const std::int64_t place = epoch % 2;
  if (epoch != workspace.epochs[place]) workspace.orders[place] = order_in(epoch);
  workspace.epochs[place] = epoch;
  return workspace.orders[place];
}

Loader::Position Loader::position_of(std::int64_t step) const {
  const auto batch = static_cast<std::int64_t>(plan_.global_batch);
  const std::int64_t steps = step - plan_.origin_step;
  const std::int64_t first =
      (static_cast<std::int64_t>(training_.size()) - plan_.origin_place) / batch;
  if (steps < first)
    return {plan_.origin_epoch, static_cast<std::size_t>(plan_.origin_place + steps * batch)};
  const std::int64_t later = steps - first;
  return {plan_.origin_epoch + 1 + later / steps_per_epoch_,
          static_cast<std::size_t>(later % steps_per_epoch_ * batch)};
}

Loader::Position Loader::position_of_shard(std::int64_t n) const {
  Position position = position_of(n / plan_.shards);
  position.first += static_cast<std::size_t>(n % plan_.shards) * shard_samples();
  return position;
}

std::vector<std::uint32_t> Loader::samples_of(std::int64_t step) const {
  std::vector<std::uint32_t> samples;
  if (plan_.shards == 0) {
    add_samples(position_of(step), plan_.global_batch, samples);
  } else {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, shards] : wanted_)
      for (std::size_t i = 0; number < taken_ && i < shards.size(); ++i)
        add_samples(position_of_shard(shards[i]), shard_samples(), samples);
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

void Loader::add_samples(const Position& at, std::size_t count,
                         std::vector<std::uint32_t>& to) const {
  const std::vector<std::uint32_t> order = order_in(at.epoch);
  for (std::size_t i = at.first; i < at.first + count; ++i) {
    to.push_back(training_[order[i]]);
    if (plan_.mixer == nullptr) continue;
    const Blend blend = plan_.mixer->blend(plan_.seed, static_cast<std::uint32_t>(at.epoch),
                                           order[i], training_.size());
    if (blend.share > 0) to.push_back(training_[blend.sample_b]);
  }
}

/// Of the sample at `place` in the training list, augmented.
void Loader::copy_inputs(std::uint64_t place, std::int64_t epoch, Workspace& workspace,
                         float* out) const {
  const std::uint32_t sample = training_[place];
  if (plan_.augmenter == nullptr) return dataset_.copy(sample, out);
  dataset_.copy(sample, workspace.original.data());
  plan_.augmenter->apply(plan_.seed, static_cast<std::uint32_t>(epoch), place,
                         workspace.original.data(), out);
}

/// Labels and targets of the sample at `place`, moved with its image.
void Loader::copy_answers(std::uint64_t place, std::int64_t epoch, Workspace& workspace,
                          std::int32_t* labels, float* targets) const {
  engine::copy_answers(dataset_, training_[place], plan_.augmenter,
                       {plan_.seed, static_cast<std::uint32_t>(epoch), place}, workspace.answers,
                       labels, targets);
}

/// The sample at `place` as it is stored, with what is to become of it.
void Loader::copy_raw(std::uint64_t place, std::int64_t epoch, std::byte* inputs,
                      std::byte* change) const {
  const std::uint32_t sample = training_[place];
  if (plan_.form.raw->stored != nullptr)
    std::memcpy(inputs, dataset_.stored_sample(sample),
                plan_.form.layout.bytes_of_sample(BatchLayout::inputs));
  else
    dataset_.copy(sample, reinterpret_cast<float*>(inputs));
  if (plan_.augmenter == nullptr) return;
  const augment::Change drawn =
      plan_.augmenter->draw(plan_.seed, static_cast<std::uint32_t>(epoch), place);
  std::memcpy(change, &drawn, sizeof drawn);
}

void Loader::fill(PreparedBatch& batch, std::int64_t step, const Shards& shards,
                  Workspace& workspace) const {
  const std::size_t together = shards.empty() ? plan_.positions : shard_samples();
  Position position;
  for (std::size_t i = 0; i < plan_.positions; ++i) {
    const std::size_t within = i % together;
    if (within == 0 && shards.empty()) {
      position = position_of(step);
      position.first += plan_.first_position;
    } else if (within == 0) {
      position = position_of_shard(shards[i / together]);
    }
    const std::int64_t epoch = position.epoch;
    const std::uint32_t place = order_of(epoch, workspace)[position.first + within];
    const auto at = [&](BatchLayout::Part part) {
      return batch.memory + plan_.form.layout.sample(part, i);
    };
    if (plan_.form.raw)
      copy_raw(place, epoch, at(BatchLayout::inputs), at(BatchLayout::changes));
    else
      copy_inputs(place, epoch, workspace, reinterpret_cast<float*>(at(BatchLayout::inputs)));
    copy_answers(place, epoch, workspace, reinterpret_cast<std::int32_t*>(at(BatchLayout::labels)),
                 reinterpret_cast<float*>(at(BatchLayout::targets)));
    if (plan_.mixer != nullptr) blend(batch.memory, i, place, epoch, workspace);
  }
}

void Loader::blend(std::byte* memory, std::size_t i, std::uint64_t place, std::int64_t epoch,
                   Workspace& workspace) const {
  const Blend blend =
      plan_.mixer->blend(plan_.seed, static_cast<std::uint32_t>(epoch), place, training_.size());
  const auto at = [&](BatchLayout::Part part) {
    return memory + plan_.form.layout.sample(part, i);
  };
  const bool of_pixels = labels_of(dataset_) > 1;
  if (!of_pixels) std::memcpy(at(BatchLayout::shares_b), &blend.share, sizeof blend.share);
  if (labels_of(dataset_) == 1)
    copy_answers(blend.sample_b, epoch, workspace,
                 reinterpret_cast<std::int32_t*>(at(BatchLayout::labels_b)), nullptr);
  if (plan_.form.raw) std::memcpy(at(BatchLayout::blends), &blend, sizeof blend);
  if (blend.share == 0) return;
  if (plan_.form.raw) {
    copy_raw(blend.sample_b, epoch, at(BatchLayout::inputs_b), at(BatchLayout::changes_b));
  } else {
    copy_inputs(blend.sample_b, epoch, workspace, workspace.inputs_b.data());
    plan_.mixer->apply(blend, workspace.inputs_b.data(),
                       reinterpret_cast<float*>(at(BatchLayout::inputs)));
  }
  if (of_pixels) {
    copy_answers(blend.sample_b, epoch, workspace, workspace.labels_b.data(), nullptr);
    plan_.mixer->apply_to_labels(blend, workspace.labels_b.data(),
                                 reinterpret_cast<std::int32_t*>(at(BatchLayout::labels)));
  }
  if (targets_of(dataset_) == 0) return;
  copy_answers(blend.sample_b, epoch, workspace, nullptr, workspace.targets_b.data());
  plan_.mixer->apply_to_targets(
      blend, workspace.targets_b.data(),
      {reinterpret_cast<float*>(at(BatchLayout::targets)), targets_of(dataset_)});
}

}  // namespace thalweg::engine
