// What is common to the methods that promote: their rungs, by the length of a trial.
#include "jobspec/search/promotion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "jobspec/check.h"
#include "jobspec/option.h"
#include "jobspec/parse.h"
#include "jobspec/search/search.h"

namespace thalweg::jobspec {
namespace {

constexpr double max_rung = 1e12, max_factor = 1000;
constexpr std::size_t max_rungs = 100;

/// min_resource * reduction_factor^k below the trial's length.
std::vector<std::int64_t> rungs_below(std::int64_t least, double factor, std::int64_t length) {
  std::vector<std::int64_t> rungs;
  for (double rung = static_cast<double>(least);
       rung < static_cast<double>(length) && rungs.size() < max_rungs; rung *= factor) {
    const auto whole = static_cast<std::int64_t>(std::floor(rung));
    if (rungs.empty() || whole > rungs.back()) rungs.push_back(whole);
  }
  return rungs;
}

}  // namespace

std::string length_unit(const Sweep& sweep) {
  for (const char* unit : {"epochs", "steps"})
    if (const Value* length = sweep.train.find(unit); length && length->is_int()) return unit;
  return "";
}

void require_checkpoints(const std::string& name, Parsing& parsing) {
  const Sweep& sweep = parsing.sweep;
  Diagnostics& diagnostics = parsing.diagnostics;
  if (sweep.program)
    diagnostics.add({}, "method",
                    "found method: " + name +
                        " with a program of your own, expected train: only the engine continues "
                        "from checkpoints",
                    "use method: random and early_terminate: {type: hyperband, min_iter: 1}");
  for (const Axis& axis : sweep.axes)
    if (axis.name == "epochs" || axis.name == "steps" || !resource_key(axis.name).empty())
      diagnostics.add(axis.place, "parameters." + axis.name,
                      "found trials of different lengths or resources, expected the same for all "
                      "with method: " +
                          name,
                      "set it under train or resources, or use method: random");
  if (sweep.early_terminate)
    diagnostics.add({}, "early_terminate",
                    "found another rule than the method's own, expected none with method: " + name,
                    "leave it out, or use method: random");
  if (sweep.seeds.size() > 1)
    diagnostics.add({}, "seeds", "found more than one, expected one with method: " + name,
                    "run the best configuration with more seeds in a sweep of its own");
}

std::string rung_text(const Promotion& promotion, std::size_t rung) {
  const std::int64_t count = promotion.rungs.at(rung);
  const std::string one = promotion.unit.substr(0, promotion.unit.size() - 1);
  return fmt::format("{} {}", count, count == 1 ? one : promotion.unit);
}

std::vector<Option> promotion_options() {
  return {int_option("min_epochs", Value(), 1, max_rung,
                     "every trial trains so long; with train.epochs; default 1"),
          int_option("min_steps", Value(), 1, max_rung,
                     "every trial trains so long; with train.steps, where it has no default"),
          above_min(float_option("reduction_factor", Promotion().reduction_factor, 1, max_factor,
                                 "the best 1/reduction_factor continue, so many times as long"))};
}

Promotion parse_promotion(const Value* value, Parsing& parsing) {
  const Sweep& sweep = parsing.sweep;
  Promotion promotion;
  promotion.method = sweep.method->name;
  promotion.waits = sweep.method->promotes == Promotes::together;
  promotion.unit = length_unit(sweep);
  require_checkpoints(promotion.method, parsing);
  if (promotion.unit.empty() && !sweep.program)
    parsing.diagnostics.add(
        {}, "train.epochs",
        "missing, expected the length of a trial with method: " + promotion.method,
        "write train: {epochs: 27} or train: {steps: 2700}");
  const Value nothing = Map{};
  Fields fields(value ? *value : nothing, promotion.method, parsing.diagnostics);
  if (!fields.is_map() || promotion.unit.empty()) return promotion;
  std::int64_t least = promotion.unit == "epochs" ? 1 : 0;
  for (const Option& option : promotion_options()) {
    const Value* const found = fields.take(option.name);
    if (!found) continue;
    std::string hint;
    const std::string expected = mismatch(option, *found, &hint);
    const bool is_length = option.name != "reduction_factor";
    if (!expected.empty())
      fields.wrong(*found, option.name, expected, hint);
    else if (is_length && option.name != "min_" + promotion.unit)
      fields.wrong(*found, option.name,
                   fmt::format("min_{}, as train.{} says the length of a trial", promotion.unit,
                               promotion.unit));
    else if (is_length)
      least = found->as_int();
    else
      promotion.reduction_factor = found->as_double();
  }
  fields.finish();
  if (least == 0) {
    fields.missing("min_steps", "how long every trial trains", "with train.epochs it is 1 epoch");
    return promotion;
  }
  const std::int64_t length = sweep.train.find(promotion.unit)->as_int();
  promotion.rungs = rungs_below(least, promotion.reduction_factor, length);
  if (promotion.rungs.empty())
    parsing.diagnostics.add(
        value ? value->place : Place{}, promotion.method + ".min_" + promotion.unit,
        fmt::format("found {}, expected less than train.{}: {}", least, promotion.unit, length),
        "no trial would pause; method: random trains all to the end");
  return promotion;
}

std::string describe(const Promotion& promotion) {
  return fmt::format("trials pause after {} {}, and about the best 1/{:g} continue{}",
                     fmt::join(promotion.rungs, ", "), promotion.unit, promotion.reduction_factor,
                     promotion.waits ? " when all are there" : "");
}

}  // namespace thalweg::jobspec
