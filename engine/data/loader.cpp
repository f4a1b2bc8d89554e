// A bounded ring of batches between the preparing threads and the trainer.
#include "engine/data/loader.h"

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

}  // namespace

Loader::Loader(const Dataset& dataset, std::vector<std::uint32_t> training, const LoaderPlan& plan)
    : dataset_(dataset),
      training_(std::move(training)),
      plan_(plan),
      sample_floats_(input_floats(dataset.form())),
      begun_(plan.first_step),
      taken_(plan.first_step) {
  steps_per_epoch_ = static_cast<std::int64_t>(training_.size() / plan.global_batch);
  if (steps_per_epoch_ < 1)
    throw std::invalid_argument("batch.global: " + std::to_string(plan.global_batch) +
                                " is more than the " + std::to_string(training_.size()) +
                                " training samples");
  // One more than prepared ahead: the trainer still reads the one it was handed.
  slots_.resize(static_cast<std::size_t>(plan.ahead) + 1);
  for (PreparedBatch& slot : slots_) {
    slot.inputs.resize(plan.positions * sample_floats_);
    slot.labels.resize(plan.positions * labels_of(dataset));
    slot.targets.resize(plan.positions * targets_of(dataset));
    if (plan.mixer == nullptr) continue;
    slot.partner_labels.resize(slot.labels.size());
    slot.partner_shares.resize(plan.positions);
  }
  try {
    for (int i = 0; i < plan.workers; ++i)
      workers_.emplace_back([this] { prepare(); });
  } catch (...) {
    stop();
    throw;
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
  ++taken_;  // frees the slot of the batch handed out before
  changed_.notify_all();
  changed_.wait(lock, [&] { return slot(step).step == step || errors_.contains(step); });
  if (errors_.contains(step)) std::rethrow_exception(errors_.at(step));
  return slot(step);
}

/// Waits for a step whose slot is free; false where there is none any more.
bool Loader::take_step(std::int64_t& step) {
  std::unique_lock lock(mutex_);
  // Slot step % slots was last used by step - slots, which must no longer be in the trainer's
  // hands.
  changed_.wait(lock, [&] {
    return stop_ || begun_ >= plan_.end_step ||
           begun_ - static_cast<std::int64_t>(slots_.size()) < taken_ - 1;
  });
  if (stop_ || begun_ >= plan_.end_step) return false;
  step = begun_++;
  return true;
}

void Loader::prepare() {
  Desk desk;
  if (plan_.augmenter != nullptr) desk.original.resize(sample_floats_);
  if (plan_.mixer != nullptr) desk.partner.resize(sample_floats_);
  desk.partner_targets.resize(targets_of(dataset_));
  for (std::int64_t step = 0; take_step(step);) {
    std::exception_ptr error;
    try {
      fill(slot(step), step, desk);
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

void Loader::order_of(std::int64_t epoch, Desk& desk) const {
  if (epoch == desk.epoch) return;
  const std::int64_t round = plan_.shuffle_once ? 0 : epoch;
  if (desk.epoch < 0 || !plan_.shuffle_once)
    desk.order = permutation(plan_.seed, Stream::shuffle, static_cast<std::uint32_t>(round),
                             training_.size());
  desk.epoch = epoch;
}

/// Of the sample at `place` in the training list, augmented.
void Loader::copy_inputs(std::uint64_t place, std::int64_t epoch, Desk& desk, float* out) const {
  const std::uint32_t sample = training_[place];
  if (plan_.augmenter == nullptr) return dataset_.copy(sample, out);
  dataset_.copy(sample, desk.original.data());
  plan_.augmenter->apply(plan_.seed, static_cast<std::uint32_t>(epoch), place, desk.original.data(),
                         out);
}

void Loader::fill(PreparedBatch& batch, std::int64_t step, Desk& desk) const {
  const std::int64_t epoch = step / steps_per_epoch_;
  order_of(epoch, desk);
  const std::size_t first =
      static_cast<std::size_t>(step % steps_per_epoch_) * plan_.global_batch + plan_.first_position;
  const std::size_t labels = labels_of(dataset_), targets = targets_of(dataset_);
  for (std::size_t i = 0; i < plan_.positions; ++i) {
    const std::uint32_t place = desk.order[first + i], sample = training_[place];
    copy_inputs(place, epoch, desk, batch.inputs.data() + i * sample_floats_);
    if (labels > 0) dataset_.copy_labels(sample, batch.labels.data() + i * labels);
    if (targets > 0) dataset_.copy_targets(sample, batch.targets.data() + i * targets);
    if (plan_.mixer != nullptr) blend(batch, i, place, epoch, desk);
  }
}

void Loader::blend(PreparedBatch& batch, std::size_t i, std::uint64_t place, std::int64_t epoch,
                   Desk& desk) const {
  const Blend blend =
      plan_.mixer->blend(plan_.seed, static_cast<std::uint32_t>(epoch), place, training_.size());
  const std::size_t labels = labels_of(dataset_), targets = targets_of(dataset_);
  const std::uint32_t partner = training_[blend.partner];
  batch.partner_shares[i] = blend.share;
  if (labels > 0) dataset_.copy_labels(partner, batch.partner_labels.data() + i * labels);
  if (blend.share == 0) return;
  copy_inputs(blend.partner, epoch, desk, desk.partner.data());
  plan_.mixer->apply(blend, desk.partner.data(), batch.inputs.data() + i * sample_floats_);
  if (targets == 0) return;
  dataset_.copy_targets(partner, desk.partner_targets.data());
  float* own = batch.targets.data() + i * targets;
  for (std::size_t t = 0; t < targets; ++t)
    own[t] = (1 - blend.share) * own[t] + blend.share * desk.partner_targets[t];
}

}  // namespace thalweg::engine
