#include "engine/schedule/table.h"

#include <limits>
#include <stdexcept>

namespace thalweg::engine {

using jobspec::Option;
using jobspec::OptionType;
using jobspec::Value;

// One row per decay and per warm-up: each is defined in the .cpp of its name.
#define THALWEG_DECAYS(ROW) ROW(constant) ROW(step) ROW(exponential) ROW(polynomial) ROW(cosine)
#define THALWEG_WARMUPS(ROW) ROW(no_warmup) ROW(linear_warmup)

#define THALWEG_DECLARE(name) DecayEntry name();
THALWEG_DECAYS(THALWEG_DECLARE)
#undef THALWEG_DECLARE
#define THALWEG_DECLARE(name) WarmupEntry name();
THALWEG_WARMUPS(THALWEG_DECLARE)
#undef THALWEG_DECLARE

#define THALWEG_CALL(name) name(),
const std::vector<DecayEntry>& decay_table() {
  static const std::vector<DecayEntry> table{THALWEG_DECAYS(THALWEG_CALL)};
  return table;
}
const std::vector<WarmupEntry>& warmup_table() {
  static const std::vector<WarmupEntry> table{THALWEG_WARMUPS(THALWEG_CALL)};
  return table;
}
#undef THALWEG_CALL

namespace {

template <class Entry>
const Entry& pick(const std::vector<Entry>& table, const Value& tree, const std::string& key,
                  const std::string& fallback) {
  const Value* given = tree.find(key);
  const std::string name = given ? given->to_text() : fallback;
  std::vector<std::string> known;
  for (const Entry& entry : table) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  std::string message = "schedule." + key + ": unknown value '" + name + "'";
  if (const std::string near = jobspec::nearest(name, known); !near.empty())
    message += " (did you mean '" + near + "'?)";
  throw std::invalid_argument(message);
}

template <class Entry>
jobspec::Section section_of(const std::vector<Entry>& table, const char* selector,
                            const char* doc) {
  jobspec::Section section;
  section.path = "schedule";
  section.doc = doc;
  section.selector = selector;
  for (const Entry& entry : table)
    section.variants.push_back({entry.name, entry.doc, entry.options});
  return section;
}

/// Warm-up first, then the decay, each with its own clock.
class Composed final : public Schedule {
 public:
  Composed(std::int64_t warmup_steps, std::unique_ptr<Schedule> warmup,
           std::unique_ptr<Schedule> decay)
      : warmup_steps_(warmup_steps), warmup_(std::move(warmup)), decay_(std::move(decay)) {}
  double multiplier(std::int64_t step) const override {
    return step < warmup_steps_ ? warmup_->multiplier(step)
                                : decay_->multiplier(step - warmup_steps_);
  }

 private:
  std::int64_t warmup_steps_;
  std::unique_ptr<Schedule> warmup_, decay_;
};

}  // namespace

ScheduleOptions::ScheduleOptions(const Value& tree, const std::vector<Option>& options,
                                 const RunLength& length)
    : tree_(tree), options_(&options), length_(length) {}

const Value* ScheduleOptions::find(const std::string& name) const {
  const Value* value = tree_.find(name);
  return value && !value->is_null() ? value : nullptr;
}

bool ScheduleOptions::given(const std::string& name) const {
  return find(name) != nullptr;
}

double ScheduleOptions::real(const std::string& name) const {
  if (const Value* value = find(name)) return value->as_double();
  for (const Option& option : *options_)
    if (option.name == name) return option.fallback.as_double();
  throw std::logic_error("schedule option '" + name + "' is not in its table row");
}

double ScheduleOptions::steps(const std::string& stem, double fallback) const {
  const Value* steps = find(stem + "_steps");
  const Value* epochs = find(stem + "_epochs");
  if (steps && epochs)
    throw std::invalid_argument("schedule: both " + stem + "_steps and " + stem +
                                "_epochs are set; keep one");
  if (steps) return steps->as_double();
  if (epochs) return epochs->as_double() * static_cast<double>(length_.steps_per_epoch);
  return fallback;
}

std::unique_ptr<Schedule> make_schedule(const Value& options, const RunLength& length) {
  const WarmupEntry& warmup = pick(warmup_table(), options, "warmup", "none");
  const DecayEntry& decay = pick(decay_table(), options, "decay", "constant");
  const ScheduleOptions warmup_options(options, warmup.options, length);
  const std::int64_t warmup_steps = warmup.steps(warmup_options);
  if (warmup_steps > length.total_steps)
    throw std::invalid_argument("schedule: the warm-up takes " + std::to_string(warmup_steps) +
                                " steps, but training has only " +
                                std::to_string(length.total_steps));
  const double span = static_cast<double>(length.total_steps - warmup_steps);
  return std::make_unique<Composed>(
      warmup_steps, warmup.make(warmup_options),
      decay.make(ScheduleOptions(options, decay.options, length), span));
}

std::vector<jobspec::Section> schedule_schema() {
  jobspec::Section decay =
      section_of(decay_table(), "decay", "how the learning rate changes over the training");
  jobspec::Section warmup =
      section_of(warmup_table(), "warmup", "how the learning rate rises at the start");
  decay.fallback = "constant";
  warmup.fallback = "none";
  return {std::move(decay), std::move(warmup)};
}

Option number_option(const char* name, Value fallback, double min, double max, const char* doc) {
  Option option;
  option.name = name;
  option.type = OptionType::real;
  option.doc = doc;
  option.fallback = std::move(fallback);
  option.min = min;
  option.max = max;
  return option;
}

std::vector<Option> span_options(const char* stem, const char* doc) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::string name = stem;
  return {number_option((name + "_steps").c_str(), Value(), 0, inf, doc),
          number_option((name + "_epochs").c_str(), Value(), 0, inf, doc)};
}

Option final_option() {
  return number_option("final", 0.0, 0, 1, "share of the base rate that is left at the end");
}

}  // namespace thalweg::engine
