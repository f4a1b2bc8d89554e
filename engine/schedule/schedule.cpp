// From the `schedule` tree to scaling x warm-up x decay.
#include "engine/schedule/schedule.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "engine/schedule/table.h"

namespace thalweg::engine {

using jobspec::Value;

namespace {

template <class Entry>
const Entry& pick(const jobspec::Table<Entry>& table, const Value& tree, const std::string& key) {
  const Value* given = tree.find(key);
  return given == nullptr ? table.front() : table.at(given->to_text(), "schedule." + key);
}

template <class Entry>
jobspec::Section section_of(const jobspec::Table<Entry>& table, const char* selector,
                            const char* doc) {
  jobspec::Section section;
  section.path = "schedule";
  section.doc = doc;
  section.selector = selector;
  section.default_value = table.front().name;
  section.variants = table.variants();
  return section;
}

class Composed final : public Schedule {
 public:
  Composed(const ScheduleContext& context, Clock clock, std::unique_ptr<Schedule> warmup,
           std::unique_ptr<Schedule> decay)
      : context_(context), clock_(clock), warmup_(std::move(warmup)), decay_(std::move(decay)) {}

  ScheduleValue at(std::int64_t step) const override {
    const std::int64_t W = context_.warmup_steps;
    const std::int64_t t =
        clock_ == Clock::start_of_run ? step : std::max<std::int64_t>(0, step - W);
    ScheduleValue value = decay_->at(t);
    if (step < W) value.lr *= warmup_->at(step).lr;
    value.lr *= context_.scale;
    return value;
  }
  void observe(std::int64_t step, const std::string& metric, double value) override {
    decay_->observe(step, metric, value);
  }
  std::string watched() const override { return decay_->watched(); }
  std::vector<double> state() const override { return decay_->state(); }
  void restore(std::span<const double> state) override { decay_->restore(state); }

 private:
  ScheduleContext context_;
  Clock clock_;
  std::unique_ptr<Schedule> warmup_, decay_;
};

struct Parts {
  const ScalingEntry& scaling;
  const WarmupEntry& warmup;
  const DecayEntry& decay;
  ScheduleContext context;
};

Parts read_parts(const Value& tree, const RunLength& length) {
  Parts parts{pick(scaling_table(), tree, "scaling"), pick(warmup_table(), tree, "warmup"),
              pick(decay_table(), tree, "decay"), ScheduleContext{length}};
  ScheduleContext& context = parts.context;
  context.scale = parts.scaling.factor({tree, parts.scaling.options, context});
  context.warmup_steps = parts.warmup.steps({tree, parts.warmup.options, context});
  if (context.warmup_steps > length.total_steps)
    throw std::invalid_argument(
        "schedule: the warm-up takes " + std::to_string(context.warmup_steps) +
        " steps, but training has only " + std::to_string(length.total_steps) +
        "; shorten the warm-up or train longer");
  return parts;
}

std::unique_ptr<Schedule> build(const Parts& parts, const Value& tree) {
  return std::make_unique<Composed>(parts.context, parts.decay.clock,
                                    parts.warmup.make({tree, parts.warmup.options, parts.context}),
                                    parts.decay.make({tree, parts.decay.options, parts.context}));
}

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

}  // namespace

void Schedule::restore(std::span<const double> state) {
  if (!state.empty())
    throw std::invalid_argument("this schedule keeps no state, " + std::to_string(state.size()) +
                                " numbers were given");
}

std::unique_ptr<Schedule> make_schedule(const Value& options, const RunLength& length) {
  return build(read_parts(options, length), options);
}

std::string describe_schedule(const Value& options, const RunLength& length, double base_lr) {
  const Parts parts = read_parts(options, length);
  const auto schedule = build(parts, options);
  const std::int64_t W = parts.context.warmup_steps, last = length.total_steps - 1;
  const auto rate = [&](std::int64_t step) {
    return short_number(base_lr * schedule->at(step).lr) + " at step " + std::to_string(step);
  };
  std::string text = parts.decay.name;
  if (W > 0)
    text = parts.warmup.name + " warm-up over " + std::to_string(W) + " steps, then " + text;
  if (parts.context.scale != 1)
    text += ", times " + short_number(parts.context.scale) + " for the batch (" +
            parts.scaling.name + ")";
  text += ": lr " + rate(0);
  if (W > 0 && W < last) text += ", " + rate(W);
  if (last > 0) text += ", " + rate(last);
  return text;
}

std::vector<jobspec::Section> schedule_schema() {
  return {section_of(decay_table(), "decay", "how the learning rate changes over the training"),
          section_of(warmup_table(), "warmup", "how the learning rate rises at the start"),
          section_of(scaling_table(), "scaling", "how the learning rate follows the batch")};
}

}  // namespace thalweg::engine
