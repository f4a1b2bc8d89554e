// What a generation is: so many configurations, all of which have ended before the next is chosen.
#include "jobspec/search/generations.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "jobspec/check.h"
#include "jobspec/parse.h"
#include "jobspec/search/promotion.h"
#include "jobspec/search/search.h"
#include "jobspec/trial.h"

namespace thalweg::jobspec {
namespace {

/// A checkpoint holds for these alone.
constexpr std::array<std::string_view, 6> fixed{"model.", "data.",     "batch.",
                                                "device", "precision", "optimizer.name"};

bool is_fixed(std::string_view name) {
  for (const std::string_view key : fixed)
    if (key.ends_with('.') ? name.starts_with(key) : name == key) return true;
  return false;
}

}  // namespace

std::int64_t generation_of(const Learning& learning, std::int64_t configuration) {
  return (configuration - 1) / *learning.generation;
}

void check_generations(const Value* value, const Learning& learning, Parsing& parsing) {
  const Sweep& sweep = parsing.sweep;
  const std::string method = in_words(*sweep.method);
  const std::string option = fmt::format("{}.{}", sweep.method->name, sweep.method->generation);
  require_checkpoints(learning.method, parsing);
  if (!sweep.program && length_unit(sweep).empty())
    parsing.diagnostics.add({}, "train.epochs",
                            "missing, expected the length of one generation with " + method,
                            "write train: {epochs: 2} or train: {steps: 200}");
  for (const Axis& axis : sweep.axes)
    if (is_fixed(axis.name))
      parsing.diagnostics.add(axis.place, "parameters." + axis.name,
                              "found what a checkpoint fixes, expected what may change while a "
                              "model trains, such as optimizer.lr, with " +
                                  method,
                              "set it under train, or use method: random");
  const std::int64_t size = *learning.generation;
  if (sweep.run_cap < 2 * size || sweep.run_cap % size != 0)
    parsing.diagnostics.add(
        value ? value->place : Place{}, "run_cap",
        fmt::format("found {}, expected a multiple of {} ({}), at least two generations",
                    sweep.run_cap, option, size),
        fmt::format("{} are {} generations", size * 5, 5));
}

void set_length(const Sweep& sweep, std::int64_t configuration, Value& train) {
  if (!sweep.learning || !sweep.learning->generation) return;
  const std::string unit = length_unit(sweep);
  const std::int64_t one = sweep.train.find(unit)->as_int();
  train.set(unit, one * (generation_of(*sweep.learning, configuration) + 1));
}

void continue_from(Value& train, const Id& trial) {
  train.set("init_from",
            Map{{"trial", fmt::format("{}.{}", trial.sweep, trial.trial)}, {"state", "all"}});
}

std::string describe_generations(const Sweep& sweep) {
  const std::int64_t size = *sweep.learning->generation, count = sweep.run_cap / size;
  const std::string unit = length_unit(sweep);
  const std::int64_t one = sweep.train.find(unit)->as_int();
  return fmt::format(
      "{} generations of {} configurations; each trains {} {} on from checkpoints, {} in all",
      count, size, one, one == 1 ? unit.substr(0, unit.size() - 1) : unit, count * one);
}

}  // namespace thalweg::jobspec
