// Everything is counted from where the batch last grew, so a checkpoint keeps six numbers, and a
// run whose batch never grows counts as it always did.
#include "engine/train/batch_growth.h"

#include <algorithm>
#include <stdexcept>

#include "engine/train/options.h"
#include "jobspec/option.h"
#include "jobspec/table.h"

namespace thalweg::engine {
namespace {

using jobspec::Value;

constexpr const char* kSection = "batch_growth";

GrowthRow none_row() {
  return {"none", "it stays as it is", {}, nullptr};
}

const std::vector<GrowthRow>& rows() {
  static const std::vector<GrowthRow> table{none_row(), growth_at_epochs_row(),
                                            growth_by_noise_row()};
  return table;
}

const GrowthRow& row_of(const Value& section) {
  const Value* const by = section.find("by");
  for (const GrowthRow& row : rows())
    if (by != nullptr && by->to_text() == row.name) return row;
  return rows().front();
}

std::string text_of(const Value& complete, const char* key) {
  const Value* const value = complete.find(key);
  return value == nullptr || value->is_null() ? "" : value->to_text();
}

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument(std::string(kSection) + ".by: " + text);
}

}  // namespace

jobspec::Section batch_growth_section() {
  jobspec::Section section;
  section.path = kSection;
  section.doc = "A global batch that grows while training, by more micro-batches in a step";
  section.selector = "by";
  section.default_value = rows().front().name;
  for (const GrowthRow& row : rows())
    section.variants.push_back({row.name, row.doc, row.options, ""});
  return section;
}

Value batch_growth_identity(const Value& complete) {
  const Value* const section = complete.find(kSection);
  if (section == nullptr || row_of(*section).maker == nullptr) return jobspec::Map{};
  return *section;
}

BatchGrowth::BatchGrowth(const Value& complete, const RunLength& length, std::int64_t training)
    : length_(length), training_(training) {
  epochs_ = length.total_steps / length.steps_per_epoch;
  const Value* const section = complete.find(kSection);
  if (section == nullptr) return;
  const GrowthRow& row = row_of(*section);
  if (row.maker == nullptr) return;
  if (!text_of(complete, "steps").empty())
    refuse("with a batch that grows a run has a length in epochs; set epochs instead of steps");
  const jobspec::Options options(*section, row.options, std::string(kSection) + ".");
  rule_ = row.maker(options, {length.global_batch, training, epochs_});
}

bool BatchGrowth::grow(std::int64_t step, const NoiseScale& noise, comm::Group& group) {
  if (!rule_ || !rule_->looks(step) || step >= end_step()) return false;
  std::int64_t wanted = rule_->multiple({step, epochs(step), noise.b_simple()});
  // Other processors may have rounded the norms otherwise.
  if (rule_->measures()) group.broadcast(&wanted, sizeof wanted, 0);
  if (wanted <= now_.multiple) return false;
  move(step, wanted);
  return true;
}

void BatchGrowth::move(std::int64_t step, std::int64_t multiple) {
  Phase next;
  const std::int64_t steps = step - now_.step, first = steps_of_first_epoch(now_);
  if (steps < first) {
    next.epoch = now_.epoch;
    next.place = now_.place + steps * batch(now_);
  } else {
    next.epoch = now_.epoch + 1 + (steps - first) / steps_per_epoch(now_);
    next.place = (steps - first) % steps_per_epoch(now_) * batch(now_);
  }
  next.step = step;
  next.samples = samples(step);
  next.epochs = epochs(step);
  next.multiple = multiple;
  if (next.place + batch(next) > training_) {
    ++next.epoch;
    next.place = 0;
  }
  before_ = now_;
  now_ = next;
}

/// Evenly from where the batch grew to the end of that epoch, as batches there are few.
double BatchGrowth::epochs(std::int64_t step) const {
  const Phase& phase = phase_at(step);
  const std::int64_t steps = step - phase.step, first = steps_of_first_epoch(phase);
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  const auto begun = static_cast<double>(phase.epoch);
  if (phase.place == 0) return begun + share(steps, first);
  if (steps < first) return phase.epochs + (begun + 1 - phase.epochs) * share(steps, first);
  return begun + 1 + share(steps - first, steps_per_epoch(phase));
}

double BatchGrowth::base_steps(std::int64_t step) const {
  if (phase_at(step).step == 0) return static_cast<double>(step);
  return epochs(step) * static_cast<double>(length_.steps_per_epoch);
}

std::int64_t BatchGrowth::samples(std::int64_t step) const {
  const Phase& phase = phase_at(step);
  return phase.samples + (step - phase.step) * batch(phase);
}

std::int64_t BatchGrowth::end_step() const {
  if (!rule_) return length_.total_steps;
  if (now_.epoch >= epochs_) return now_.step;
  return now_.step + steps_of_first_epoch(now_) +
         (epochs_ - now_.epoch - 1) * steps_per_epoch(now_);
}

std::vector<double> BatchGrowth::state() const {
  if (now_.step == 0) return {};
  std::vector<double> state;
  for (const std::int64_t number : {now_.step, now_.epoch, now_.place, now_.samples, now_.multiple})
    state.push_back(static_cast<double>(number));
  state.push_back(now_.epochs);
  return state;
}

void BatchGrowth::restore(const std::vector<double>& state) {
  // Weights of such a run may begin one whose batch stays (init_from).
  if (state.empty() || !rule_) return;
  if (state.size() != 6)
    throw std::invalid_argument("the growth of the batch keeps 6 numbers, not " +
                                std::to_string(state.size()));
  const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(state[i]); };
  const Phase kept{number(0), number(1), number(2), number(3), number(4), state[5]};
  const std::int64_t most = training_ / length_.global_batch;
  if (kept.step < 0 || kept.epoch < 0 || kept.place < 0 || kept.multiple < 1 ||
      kept.multiple > most || kept.place + kept.multiple * length_.global_batch > training_)
    throw std::invalid_argument("the growth of the batch is not that of this run");
  now_ = kept;
}

void require_growth(const BatchGrowth& growth, const Value& complete, const Settings& settings,
                    const SyncFacts& facts, std::int64_t small_batches) {
  if (growth.idle()) return;
  if (const std::string mode = text_of(complete, "sync.mode"); mode != "sync")
    refuse("sync.mode " + mode +
           " keeps gradients or weights of its own from step to step, made for one batch; a batch "
           "that grows needs sync.mode sync");
  if (const std::string kind = text_of(complete, "sync.compress");
      kind == "powersgd" || kind == "top-k")
    refuse("sync.compress " + kind +
           " keeps an error from step to step, made for one batch; use fp16, bf16 or none");
  if (facts.on_gpu)
    refuse("on a GPU a step is captured for one number of micro-batches; set device to cpu");
  if (facts.joins_shards)
    refuse(
        "model.sync_batch_norm normalises over a batch at once, and one that grows is computed "
        "in micro-batches; leave one of them out");
  if (!growth.measures()) return;
  if (settings.noise_every == 0)
    refuse(
        "noise_scale goes by the noise of gradients, and noise.every is 0: never measured; set "
        "noise.every to 1");
  if (small_batches < 2)
    refuse(
        "noise_scale compares the gradients of a batch and of its parts, and there is one part "
        "only; set batch.shards or sync.accumulate to 2 or more");
}

}  // namespace thalweg::engine
