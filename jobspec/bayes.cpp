#include "jobspec/bayes.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobspec/parse.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t max_initial = 1'000'000, max_parallel = 10'000;
/// Without `initial`: as many as Optuna's samplers draw, but not most of a short sweep.
constexpr std::int64_t usual_initial = 10, part_of_run_cap = 3;

/// What a trial runs on is fixed when the sweep is submitted.
void refuse_resources(Parsing& parsing) {
  for (const Axis& axis : parsing.sweep.axes)
    if (!resource_key(axis.name).empty())
      parsing.diagnostics.add(axis.place, "parameters." + axis.name,
                              "found resources to choose by results, expected parameters of train",
                              "set them under resources, or use method: grid or random");
}

}  // namespace

Bayes parse_bayes(const Value* value, Parsing& parsing) {
  Bayes bayes;
  const Sweep& sweep = parsing.sweep;
  bayes.seeds = static_cast<std::int64_t>(sweep.seeds.size());
  bayes.initial = std::clamp<std::int64_t>(sweep.run_cap / part_of_run_cap, 1, usual_initial);
  refuse_resources(parsing);
  if (sweep.program && !sweep.metric_given)
    parsing.diagnostics.add({}, "metric", "missing, expected what method: bayes is to improve",
                            "add metric: {name: loss, goal: minimize}");
  if (!value) return bayes;
  Fields fields(*value, "bayes", parsing.diagnostics);
  if (!fields.is_map()) return bayes;
  fields.integer("initial", bayes.initial, {1, max_initial});
  fields.integer("parallel", bayes.parallel, {1, max_parallel});
  fields.finish();
  return bayes;
}

bool is_bayes(const Value& file) {
  const Value* method = file.find("method");
  return method && *method == Value("bayes");
}

std::string describe(const Bayes& bayes, std::int64_t run_cap) {
  if (bayes.initial >= run_cap)
    return fmt::format(
        "all {} configurations are drawn (bayes.initial = {}): none is left to "
        "choose by results",
        run_cap, bayes.initial);
  return fmt::format(
      "the first {} of {} configurations are drawn; each other one is chosen by the results that "
      "there are when it can start, and the one listed now only holds its place",
      bayes.initial, run_cap);
}

}  // namespace thalweg::jobspec
