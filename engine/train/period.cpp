// Steps are counted alike on all ranks; clocks are not. Where seconds count, rank 0 says after
// which step its clock is looked at next: half the steps that fit into what is left, so that a
// period costs a few messages however short its steps are, and a run that becomes slower is not
// late by much.
#include "engine/train/period.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

constexpr std::array kUnits{
    std::pair{Every::Unit::steps, "steps"}, std::pair{Every::Unit::epochs, "epochs"},
    std::pair{Every::Unit::samples, "samples"}, std::pair{Every::Unit::seconds, "seconds"}};

std::string key_of(const char* unit) {
  return std::string("every_") + unit;
}

/// Three thirds of an epoch are the epoch, in spite of rounding.
std::int64_t multiples_up_to(double steps, double period) {
  return static_cast<std::int64_t>(std::floor(steps / period * (1 + 1e-13)));
}

}  // namespace

std::vector<jobspec::Option> every_options(const std::string& what) {
  std::vector<jobspec::Option> options;
  for (const auto& [unit, name] : kUnits) {
    std::string doc = std::string(name) + " between two " + what + ", instead of every";
    if (unit == Every::Unit::epochs) doc += "; fractions too";
    if (unit == Every::Unit::seconds)
      doc += ", by rank 0's clock: the steps differ from run to run";
    const double most = unit == Every::Unit::seconds ? 1e9 : jobspec::no_limit;
    options.push_back(jobspec::above_min(
        jobspec::float_option(key_of(name), jobspec::Value(), 0, most, std::move(doc))));
  }
  return options;
}

Every read_every(const jobspec::Options& options, const std::string& section,
                 const Every& fallback) {
  Every found = fallback;
  bool any = false;
  for (const auto& [unit, name] : kUnits) {
    const std::string key = key_of(name);
    if (!options.has(key)) continue;
    if (any)
      throw std::invalid_argument(section + ": both " + found.key + " and " + key +
                                  " are set; keep one");
    const bool automatic = options.is_auto(key);
    found = {unit, automatic ? 0 : options.real(key), key, automatic};
    any = true;
  }
  return found;
}

bool Period::due(std::int64_t step) const {
  if (steps <= 0 || step <= 0) return false;
  const auto passed = [&](std::int64_t at) {
    const bool as_they_are = of_steps || !in_steps;
    return multiples_up_to(as_they_are ? static_cast<double>(at) : in_steps(at), steps);
  };
  return passed(step) > passed(step - 1);
}

Period period_of(const Every& every, const std::string& section, const RunLength& length) {
  // Of auto any number will do until the run says one; see CheckpointInterval.
  if (every.automatic) return {0, 1, true};
  if (every.unit == Every::Unit::seconds) return {0, every.count};
  double each = 1;  // steps
  if (every.unit == Every::Unit::epochs) each = static_cast<double>(length.steps_per_epoch);
  if (every.unit == Every::Unit::samples) each = 1 / static_cast<double>(length.global_batch);
  const double steps = every.count * each, most = static_cast<double>(kMaxSteps);
  if (steps > most)
    throw std::invalid_argument(section + "." + every.key + ": " +
                                jobspec::Value(every.count).to_text() +
                                " is more than can be counted; use at most " +
                                jobspec::Value(std::floor(most / each)).to_text());
  const double whole = std::round(steps);
  Period period{std::abs(steps - whole) <= 1e-9 && whole > 0 ? whole : steps, 0};
  period.of_steps = every.unit == Every::Unit::steps;
  return period;
}

Due::Due(const Period& period, std::int64_t first_step, std::function<double()> seconds_now)
    : period_(period),
      now_(std::move(seconds_now)),
      looked_step_(first_step),
      next_look_(first_step + 1) {
  if (period_.seconds > 0) last_ = looked_at_ = now_();
}

bool Due::decide(std::int64_t step, comm::Group& group) {
  if (period_.seconds == 0) return period_.due(step);
  struct {
    std::int64_t next = 0;
    std::int64_t due = 0;
  } said;
  if (group.rank() == 0) {
    const double now = now_(), left = last_ + period_.seconds - now;
    const double a_step = (now - looked_at_) / static_cast<double>(step - looked_step_);
    said.due = left <= 0 ? 1 : 0;
    const double half = (left > 0 ? left : period_.seconds) / 2;
    const double steps = a_step > 0 ? half / a_step : 1;
    said.next = step + std::max<std::int64_t>(1, std::llround(std::min(steps, 1e9)));
    if (said.due != 0) last_ = now;
    looked_at_ = now;
  }
  group.broadcast(&said, sizeof said, 0);
  looked_step_ = step;
  next_look_ = said.next;
  return said.due != 0;
}

}  // namespace thalweg::engine
