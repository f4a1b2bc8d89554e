// `zip`, `each`, `when` and `constraint` of a sweep file: which values of the parameters meet.
#include <algorithm>

#include "jobspec/check.h"
#include "jobspec/parse.h"
#include "jobspec/search/search.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

/// The axis of that name, or a diagnostic.
const Axis* wanted_axis(const std::string& name, Place place, const std::string& key,
                        Parsing& parsing) {
  const Axis* axis = find_axis(parsing.sweep, name);
  if (!axis && !parsing.broken_axes.count(name)) {
    const std::vector<std::string> names = axis_names(parsing.sweep);
    parsing.diagnostics.add(place, key, "found '" + name + "', expected the name of a parameter",
                            did_you_mean(name, names));
  }
  return axis;
}

void zip_group(const Value& value, Parsing& parsing, std::set<std::string>& used) {
  const auto report_error = [&](const std::string& message, const std::string& hint = "") {
    parsing.diagnostics.add(value.place, "zip", message, hint);
  };
  const bool good = value.is_list() && value.as_list().size() >= 2 &&
                    std::all_of(value.as_list().begin(), value.as_list().end(),
                                [](const Value& item) { return item.is_string(); });
  if (!good) {
    report_error("found " + describe(value) + ", expected a list of at least two parameters",
                 "as [[model.name, batch.global]]");
    return;
  }
  std::vector<std::string> group;
  std::string lengths;
  bool equal = true, complete = true;
  std::size_t length = 0;
  for (const Value& item : value.as_list()) {
    const std::string& name = item.as_string();
    const Axis* axis = wanted_axis(name, item.place, "zip", parsing);
    complete = complete && axis;
    if (!axis) continue;
    if (!used.insert(name).second) report_error("found " + name + " twice, expected once");
    const auto* values = axis->distribution->listed();
    if (!values || !axis->distribution->grid()) {
      report_error("found " + name + " with a range, expected parameters with plain values");
      complete = false;
      continue;
    }
    if (!group.empty()) lengths += ", ";
    lengths += name + " has " + std::to_string(values->size());
    equal = equal && (group.empty() || values->size() == length);
    length = values->size();
    group.push_back(name);
  }
  if (!equal) report_error("found lists of different lengths, expected equal ones", lengths);
  if (equal && complete) parsing.sweep.zip.push_back(std::move(group));
}

void when_condition(const std::string& axis, const std::string& on, const Value& value,
                    const Map& conditions, Parsing& parsing) {
  const std::string key = "when." + axis + "." + on;
  const auto report_error = [&](const std::string& message, const std::string& hint = "") {
    parsing.diagnostics.add(value.place, key, message, hint);
  };
  const Target target(parsing.schema, on);
  if (!target.known()) {
    const Value& train = parsing.sweep.train;
    const UnknownKey said = unknown_key(
        "parameters", on, value, {}, {},
        [&](const Meaning& meaning) { return cannot_be_given(parsing.schema, train, meaning); });
    const std::string near = said.hint.empty() ? Target::suggestion(parsing.schema, train, on) : "";
    report_error("unknown option, expected an option of train",
                 near.empty() ? said.hint : "did you mean '" + near + "'?");
    return;
  }
  const bool given =
      parsing.sweep.train.find(on) || find_axis(parsing.sweep, on) || parsing.broken_axes.count(on);
  if (!given) {
    report_error("found a condition on '" + on +
                     "', which has its default, expected a parameter or an option set in train",
                 "set train." + on);
    return;
  }
  const bool chained = std::any_of(conditions.begin(), conditions.end(),
                                   [&](const auto& entry) { return entry.first == on; });
  if (chained) {
    report_error("found a condition on '" + on +
                 "', which has a condition itself, expected a plain parameter");
    return;
  }
  When when{axis, on, value.is_list() ? value.as_list() : std::vector<Value>{value}};
  if (when.values.empty()) report_error("found an empty list, expected at least one value");
  for (const Value& item : when.values) {
    std::string hint;
    const std::string expected = target.mismatch(item, &hint);
    if (!expected.empty()) report_error("found " + describe(item) + ", expected " + expected, hint);
  }
  parsing.sweep.when.push_back(std::move(when));
}

/// Paths of the scalars of a tree: what a constraint can name beside parameters.
void add_paths(const Value& tree, const std::string& under, std::vector<std::string>& paths) {
  for (const auto& [key, value] : tree.as_map()) {
    const std::string path = joined(under, key);
    if (value.is_map())
      add_paths(value, path, paths);
    else
      paths.push_back(path);
  }
}

/// Whether a constraint can name it; reports an error where not.
bool is_given(const std::string& name, const Value& value, Parsing& parsing) {
  const Value* fixed = parsing.sweep.train.find(name);
  if (find_axis(parsing.sweep, name) || parsing.broken_axes.count(name)) return true;
  if (fixed && !fixed->is_map() && !fixed->is_list()) return true;
  const Target target(parsing.schema, name);
  const bool left_out = !parsing.own && target.known() && !fixed;
  std::string hint = left_out ? "set train." + name : "";
  if (!left_out) {
    std::vector<std::string> names = axis_names(parsing.sweep);
    add_paths(parsing.sweep.train, "", names);
    hint = did_you_mean(name, names);
    if (hint.empty()) hint = "put text in quotes: '" + name + "'";
  }
  parsing.diagnostics.add(value.place, "constraint",
                          "found '" + name + "'" + (left_out ? ", which has its default" : "") +
                              ", expected a parameter or an option set in " +
                              (parsing.own ? "config" : "train"),
                          hint);
  return false;
}

void constraint(const Value& value, Parsing& parsing) {
  const auto report_error = [&](const std::string& message, const std::string& hint = "") {
    parsing.diagnostics.add(value.place, "constraint", message, hint);
  };
  if (!value.is_string()) {
    report_error("found " + describe(value) + ", expected a condition over parameters",
                 "as optimizer.lr * batch.global <= 64");
    return;
  }
  try {
    Constraint condition(value.as_string());
    condition.place = value.place;
    if (condition.names().empty()) report_error("found no parameter in it, expected one or more");
    bool good = !condition.names().empty();
    for (const std::string& name : condition.names())
      good = is_given(name, value, parsing) && good;
    if (good) parsing.sweep.constraints.push_back(std::move(condition));
  } catch (const std::invalid_argument& bad) {
    report_error(value.as_string() + ": " + bad.what());
  }
}

}  // namespace

void parse_zip(const Value& value, Parsing& parsing) {
  if (!value.is_list() || value.as_list().empty()) {
    parsing.diagnostics.add(
        value.place, "zip",
        "found " + describe(value) + ", expected a list of groups of parameters",
        "as [[model.name, batch.global]]");
    return;
  }
  std::set<std::string> used;
  const bool flat = value.as_list().front().is_string();
  if (flat) {
    zip_group(value, parsing, used);
    return;
  }
  for (const Value& group : value.as_list())
    zip_group(group, parsing, used);
}

void parse_each(const Value& value, Parsing& parsing) {
  const auto report_error = [&](const Value& at, const std::string& message,
                                const std::string& hint = "") {
    parsing.diagnostics.add(at.place, "each", message, hint);
  };
  const std::vector<Value> names = value.is_string() ? std::vector<Value>{value}
                                   : value.is_list() ? value.as_list()
                                                     : std::vector<Value>{};
  const bool good = !names.empty() && std::all_of(names.begin(), names.end(),
                                                  [](const Value& v) { return v.is_string(); });
  if (!good) {
    report_error(value, "found " + describe(value) + ", expected a list of parameters",
                 "as [optimizer.name]");
    return;
  }
  if (parsing.sweep.method->tunes) {
    report_error(value, "found draws for each value in a study, expected no such key",
                 "study.compare says whose values get as many draws each");
    return;
  }
  if (parsing.sweep.method->learns()) {
    report_error(value, "found configurations that are not chosen by results, expected no such key",
                 "use method: random, or a sweep for each value");
    return;
  }
  if (parsing.sweep.method->lists() && !parsing.method_unknown) {
    report_error(value, "found draws for each value in a grid, expected method: random",
                 "a grid meets every value anyway");
    return;
  }
  std::vector<std::string>& each = parsing.sweep.each;
  for (const Value& item : names) {
    const std::string& name = item.as_string();
    const Axis* axis = wanted_axis(name, item.place, "each", parsing);
    if (!axis) continue;
    if (!axis->distribution->grid()) {
      report_error(item, "found " + name + " with infinitely many values, expected a list of them",
                   "write values");
    } else if (std::find(each.begin(), each.end(), name) != each.end()) {
      report_error(item, "found " + name + " twice, expected once");
    } else {
      each.push_back(name);
    }
  }
  if (each.size() == parsing.sweep.axes.size() && parsing.broken_axes.empty()) {
    report_error(value, "found every parameter, expected one to be left to draw",
                 "use method: grid");
  }
}

void parse_when(const Value& value, Parsing& parsing) {
  if (!value.is_map() || value.as_map().empty()) {
    parsing.diagnostics.add(value.place, "when",
                            "found " + describe(value) + ", expected conditions by parameter",
                            "as {optimizer.momentum: {optimizer.name: momentum}}");
    return;
  }
  const std::size_t before = parsing.diagnostics.size();
  for (const auto& [axis, conditions] : value.as_map()) {
    if (!wanted_axis(axis, conditions.place, "when", parsing)) continue;
    if (!conditions.is_map() || conditions.as_map().empty()) {
      parsing.diagnostics.add(conditions.place, "when." + axis,
                              "found " + describe(conditions) + ", expected a map of conditions",
                              "as {optimizer.name: [momentum, nesterov]}");
      continue;
    }
    for (const auto& [on, values] : conditions.as_map()) {
      when_condition(axis, on, values, value.as_map(), parsing);
    }
  }
  if (parsing.diagnostics.size() == before) check_conditions(parsing);
}

void parse_constraint(const Value& value, Parsing& parsing) {
  if (!value.is_list()) {
    constraint(value, parsing);
    return;
  }
  for (const Value& item : value.as_list())
    constraint(item, parsing);
  if (value.as_list().empty())
    parsing.diagnostics.add(value.place, "constraint",
                            "found an empty list, expected at least one condition",
                            "as [optimizer.lr * batch.global <= 64]");
}

}  // namespace thalweg::jobspec
