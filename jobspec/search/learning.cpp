// What is common to the methods that learn: the rows say what else they take.
#include "jobspec/search/learning.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobspec/check.h"
#include "jobspec/complete.h"
#include "jobspec/option.h"
#include "jobspec/parse.h"
#include "jobspec/search/generations.h"
#include "jobspec/search/search.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

constexpr double max_initial = 1'000'000, max_parallel = 10'000;
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

Learning defaults(const SearchMethod& method, const Sweep& sweep) {
  Learning learning;
  learning.method = method.name;
  learning.seeds = static_cast<std::int64_t>(sweep.seeds.size());
  learning.initial = std::clamp<std::int64_t>(sweep.run_cap / part_of_run_cap, 1, usual_initial);
  for (const Option& option : method.options)
    learning.options.emplace_back(option.name, option.default_value);
  return learning;
}

/// In the order of the table, and of the options what is wrong.
void read_options(Fields& fields, const std::vector<Option>& options, Map& into) {
  for (const Option& option : options) {
    const Value* found = fields.take(option.name);
    if (!found) continue;
    std::string hint;
    const std::string expected = mismatch(option, *found, &hint);
    if (!expected.empty()) {
      fields.wrong(*found, option.name, expected, hint);
      continue;
    }
    for (auto& [name, value] : into)
      if (name == option.name) value = *found;
  }
}

}  // namespace

bool waits_for_draws(const Learning& learning) {
  const SearchMethod* const method = search_methods().find(learning.method);
  return method && method->tunes;
}

std::vector<Option> learning_options() {
  const Learning usual;
  return {
      int_option("initial", usual.initial, 1, max_initial,
                 "configurations that are drawn first; default: a third of run_cap, at most 10"),
      int_option("parallel", usual.parallel, 1, max_parallel,
                 "nothing is chosen while so many trials run or wait in the queue")};
}

namespace {

Learning read_learning(const Value* value, Parsing& parsing) {
  const Sweep& sweep = parsing.sweep;
  const std::string name(sweep.method->name);
  Learning learning = defaults(*sweep.method, sweep);
  refuse_resources(parsing);
  if (sweep.program && !sweep.metric_given)
    parsing.diagnostics.add({}, "metric",
                            "missing, expected what method: " + name + " is to improve",
                            "add metric: {name: loss, goal: minimize}");
  if (!value) return learning;
  Fields fields(*value, name, parsing.diagnostics);
  if (!fields.is_map()) return learning;
  Map common{{"initial", learning.initial}, {"parallel", learning.parallel}};
  read_options(fields, learning_options(), common);
  learning.initial = common[0].second.as_int();
  learning.parallel = common[1].second.as_int();
  read_options(fields, sweep.method->options, learning.options);
  fields.finish();
  return learning;
}

/// The first one is drawn, and by default all of one may run at once.
void read_generation(const Value* value, Learning& learning, Parsing& parsing) {
  const SearchMethod& method = *parsing.sweep.method;
  if (method.generation.empty()) return;
  for (const auto& [name, number] : learning.options)
    if (name == method.generation) learning.generation = number.as_int();
  const Value* const initial = value ? value->find("initial") : nullptr;
  if (initial)
    parsing.diagnostics.add(
        initial->place, learning.method + ".initial",
        fmt::format("found {}, expected none: the first generation is drawn", initial->to_text()),
        fmt::format("write {}: {}", method.generation, initial->to_text()));
  learning.initial = *learning.generation;
  if (!value || !value->find("parallel")) learning.parallel = *learning.generation;
  check_generations(value, learning, parsing);
}

}  // namespace

Learning parse_learning(const Value* value, Parsing& parsing) {
  Learning learning = read_learning(value, parsing);
  read_generation(value, learning, parsing);
  return learning;
}

namespace {

const SearchMethod* method_of(const Value& file) {
  const Value* name = file.find("method");
  return name && name->is_string() ? search_methods().find(name->as_string()) : nullptr;
}

}  // namespace

const SearchMethod* learning_method(const Value& file) {
  const SearchMethod* method = method_of(file);
  return method && method->learns() ? method : nullptr;
}

std::optional<std::int64_t> generation_size(const Value& file) {
  const SearchMethod* method = learning_method(file);
  if (!method || method->generation.empty()) return {};
  const Value* given = file.find(fmt::format("{}.{}", method->name, method->generation));
  if (given && given->is_int()) return given->as_int();
  for (const Option& option : method->options)
    if (option.name == method->generation) return option.default_value.as_int();
  return {};
}

bool promotes(const Value& file) {
  const SearchMethod* method = method_of(file);
  return method && method->pauses();
}

std::string describe(const Learning& learning, std::int64_t run_cap) {
  if (learning.initial >= run_cap)
    return fmt::format(
        "all {} configurations are drawn ({}.initial = {}): none is left to "
        "choose by results",
        run_cap, learning.method, learning.initial);
  return fmt::format(
      "the first {} of {} configurations are drawn; the others are chosen from the results "
      "available when each can start; those listed now are placeholders",
      learning.initial, run_cap);
}

}  // namespace thalweg::jobspec
