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
    : Options(tree, options, "schedule."), context_(context) {}

double ScheduleOptions::Unit::steps(double length) const {
  const double steps = length * epoch / batch;
  const double whole = std::round(steps);
  return std::abs(steps - whole) <= std::max(1e-9, 1e-15 * whole) ? whole : steps;
}

std::string ScheduleOptions::span_key(const std::string& stem, Unit* unit) const {
  const Unit units[] = {{}, {epoch(), 1}, {1, static_cast<double>(context_.length.global_batch)}};
  std::string found;
  for (int i = 0; i < 3; ++i) {
    const std::string key = stem + kUnits[i];
    if (!has(key)) continue;
    if (!found.empty())
      throw std::invalid_argument("schedule: both " + found + " and " + key + " are set; keep one");
    found = key;
    *unit = units[i];
  }
  return found;
}

double ScheduleOptions::steps(const std::string& stem, double fallback) const {
  Unit unit;
  const std::string key = span_key(stem, &unit);
  return key.empty() ? fallback : unit.steps(real(key));
}

std::vector<double> ScheduleOptions::step_list(const std::string& stem, std::string* key) const {
  Unit unit;
  *key = span_key(stem, &unit);
  if (key->empty())
    throw std::invalid_argument("schedule." + stem + "_epochs is missing: give a list as " + stem +
                                "_epochs, " + stem + "_steps or " + stem + "_samples");
  std::vector<double> steps = reals(*key);
  for (double& step : steps)
    step = unit.steps(step);
  return steps;
}

std::vector<Option> span_options(const char* stem, const char* doc) {
  std::vector<Option> options;
  for (const char* unit : kUnits)
    options.push_back(float_option(stem + std::string(unit), Value(), 0, kInfinity, doc));
  return options;
}

std::vector<Option> span_list_options(const char* stem, const char* doc) {
  std::vector<Option> options;
  for (const char* unit : kUnits)
    options.push_back(list_option(stem + std::string(unit), {}, doc));
  return options;
}

Option final_option() {
  return float_option("final", 0.0, 0, 1, "share of the base rate that is left at the end");
}

}  // namespace thalweg::engine
