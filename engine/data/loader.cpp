// A bounded ring of batches between the preparing thread and the trainer.
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
      ready_(plan.first_step),
      taken_(plan.first_step) {
  steps_per_epoch_ = static_cast<std::int64_t>(training_.size() / plan.global_batch);
  if (steps_per_epoch_ < 1)
    throw std::invalid_argument("batch.global: " + std::to_string(plan.global_batch) +
                                " is more than the " + std::to_string(training_.size()) +
                                " training samples");
  if (plan.augmenter != nullptr) original_.resize(sample_floats_);
  // One more than prepared ahead: the trainer still reads the one it was handed.
  slots_.resize(static_cast<std::size_t>(plan.ahead) + 1);
  for (PreparedBatch& slot : slots_) {
    slot.inputs.resize(plan.positions * sample_floats_);
    slot.labels.resize(plan.positions * labels_of(dataset));
    slot.targets.resize(plan.positions * targets_of(dataset));
  }
  thread_ = std::thread([this] { prepare_all(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const PreparedBatch& Loader::next() {
  std::unique_lock lock(mutex_);
  if (taken_ >= plan_.end_step) throw std::logic_error("no batch after the last step");
  const std::int64_t step = taken_;
  ++taken_;  // frees the slot of the batch handed out before
  changed_.notify_all();
  changed_.wait(lock, [&] { return ready_ > step || error_; });
  if (ready_ <= step) std::rethrow_exception(error_);
  return slots_[static_cast<std::size_t>(step) % slots_.size()];
}

void Loader::prepare_all() {
  try {
    for (std::int64_t step = plan_.first_step; step < plan_.end_step; ++step) {
      {
        std::unique_lock lock(mutex_);
        // Slot step % slots was last used by step - slots, which must no longer be in the trainer's
        // hands.
        changed_.wait(lock, [&] {
          return stop_ || step - static_cast<std::int64_t>(slots_.size()) < taken_ - 1;
        });
        if (stop_) return;
      }
      fill(slots_[static_cast<std::size_t>(step) % slots_.size()], step);
      const std::lock_guard lock(mutex_);
      ready_ = step + 1;
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

void Loader::fill(PreparedBatch& batch, std::int64_t step) {
  const std::int64_t epoch = step / steps_per_epoch_;
  if (epoch != epoch_) {
    const std::int64_t round = plan_.shuffle_once ? 0 : epoch;
    if (epoch_ < 0 || !plan_.shuffle_once)
      order_ = permutation(plan_.seed, Stream::shuffle, static_cast<std::uint32_t>(round),
                           training_.size());
    epoch_ = epoch;
  }
  const std::size_t first =
      static_cast<std::size_t>(step % steps_per_epoch_) * plan_.global_batch + plan_.first_position;
  const std::size_t labels = labels_of(dataset_), targets = targets_of(dataset_);
  for (std::size_t i = 0; i < plan_.positions; ++i) {
    const std::uint32_t sample = training_[order_[first + i]];
    float* inputs = batch.inputs.data() + i * sample_floats_;
    dataset_.copy(sample, plan_.augmenter != nullptr ? original_.data() : inputs);
    if (plan_.augmenter != nullptr)
      plan_.augmenter->apply(plan_.seed, static_cast<std::uint32_t>(epoch), order_[first + i],
                             original_.data(), inputs);
    if (labels > 0) dataset_.copy_labels(sample, batch.labels.data() + i * labels);
    if (targets > 0) dataset_.copy_targets(sample, batch.targets.data() + i * targets);
  }
  batch.step = step;
}

}  // namespace thalweg::engine
