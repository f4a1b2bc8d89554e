#include "engine/schedule/options.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace thalweg::engine {

using jobspec::Option;
using jobspec::Value;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kUnits[] = {"_steps", "_epochs", "_samples"};

}  // namespace

ScheduleOptions::ScheduleOptions(const Value& tree, const std::vector<Option>& options,
                                 const ScheduleContext& context)
    : tree_(tree), options_(&options), context_(context) {}

const Value* ScheduleOptions::find(const std::string& name) const {
  const Value* value = tree_.find(name);
  return value && !value->is_null() ? value : nullptr;
}

const Value& ScheduleOptions::value(const std::string& name) const {
  if (const Value* value = find(name)) return *value;
  for (const Option& option : *options_)
    if (option.name == name) {
      if (option.fallback.is_null())
        throw std::invalid_argument("schedule." + name + " is missing: " + option.doc);
      return option.fallback;
    }
  throw std::logic_error("schedule option '" + name + "' is not in its table row");
}

bool ScheduleOptions::given(const std::string& name) const {
  return find(name) != nullptr;
}

bool ScheduleOptions::is_auto(const std::string& name) const {
  const Value& v = value(name);
  return v.is_string() && v.as_string() == "auto";
}

double ScheduleOptions::real(const std::string& name) const {
  return value(name).as_double();
}

bool ScheduleOptions::flag(const std::string& name) const {
  return value(name).as_bool();
}

std::string ScheduleOptions::text(const std::string& name) const {
  return value(name).to_text();
}

std::vector<double> ScheduleOptions::numbers(const std::string& name) const {
  std::vector<double> numbers;
  for (const Value& entry : value(name).as_list()) {
    if (!entry.is_number())
      throw std::invalid_argument("schedule." + name + ": found " + jobspec::describe(entry) +
                                  " in the list, expected numbers only");
    numbers.push_back(entry.as_double());
  }
  return numbers;
}

double ScheduleOptions::Unit::steps(double length) const {
  const double steps = length * epoch / batch;
  const double whole = std::round(steps);
  return std::abs(steps - whole) <= std::max(1e-9, 1e-15 * whole) ? whole : steps;
}

const Value* ScheduleOptions::span(const std::string& stem, std::string* key, Unit* unit) const {
  const Unit units[] = {{}, {epoch(), 1}, {1, static_cast<double>(context_.length.global_batch)}};
  const Value* found = nullptr;
  for (int i = 0; i < 3; ++i) {
    const Value* value = find(stem + kUnits[i]);
    if (value == nullptr) continue;
    if (found != nullptr)
      throw std::invalid_argument("schedule: both " + *key + " and " + stem + kUnits[i] +
                                  " are set; keep one");
    found = value;
    *key = stem + kUnits[i];
    *unit = units[i];
  }
  return found;
}

double ScheduleOptions::steps(const std::string& stem, double fallback) const {
  std::string key;
  Unit unit;
  const Value* value = span(stem, &key, &unit);
  return value != nullptr ? unit.steps(value->as_double()) : fallback;
}

std::vector<double> ScheduleOptions::step_list(const std::string& stem, std::string* key) const {
  Unit unit;
  if (span(stem, key, &unit) == nullptr)
    throw std::invalid_argument("schedule." + stem + "_epochs is missing: give a list as " + stem +
                                "_epochs, " + stem + "_steps or " + stem + "_samples");
  std::vector<double> steps = numbers(*key);
  for (double& step : steps)
    step = unit.steps(step);
  return steps;
}

std::vector<Option> span_options(const char* stem, const char* doc) {
  std::vector<Option> options;
  for (const char* unit : kUnits)
    options.push_back(real_option(stem + std::string(unit), Value(), 0, kInfinity, doc));
  return options;
}

std::vector<Option> span_list_options(const char* stem, const char* doc) {
  std::vector<Option> options;
  for (const char* unit : kUnits)
    options.push_back(list_option(stem + std::string(unit), {}, doc));
  return options;
}

Option final_option() {
  return real_option("final", 0.0, 0, 1, "share of the base rate that is left at the end");
}

}  // namespace thalweg::engine
