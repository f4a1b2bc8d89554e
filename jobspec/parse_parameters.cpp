// `parameters`, `zip` and `when` of a sweep file.
#include <algorithm>
#include <cmath>

#include "jobspec/check.h"
#include "jobspec/parse.h"
#include "jobspec/resources.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

constexpr std::string_view resources_prefix = "resources.";
constexpr std::string_view train_prefix = "train.";

/// As in W&B: a letter or underscore, then letters, digits, underscores, dots and dashes.
bool is_name(const std::string& name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !letter(name[0]) || name.back() == '.') return false;
  if (name.find("..") != name.npos) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

class ParameterReader {
 public:
  ParameterReader(Parsing& parsing, const Value* train) : parsing_(parsing), train_(train) {}

  void group(const Value& value, const std::string& prefix) {
    const std::string path = "parameters" + (prefix.empty() ? "" : "." + prefix);
    if (!value.is_map() || value.as_map().empty()) {
      parsing_.complaints.add(value.place, path,
                              "found " + describe(value) + ", expected parameters by name",
                              value.is_list() ? "leave out the '-' before each name" : "");
      return;
    }
    for (const auto& [key, inner] : value.as_map()) {
      parameter(prefix.empty() ? key : prefix + "." + key, inner);
    }
  }

 private:
  void complain(const Value& at, const std::string& name, std::string message,
                std::string hint = {}) {
    parsing_.complaints.add(at.place, "parameters." + name, std::move(message), std::move(hint));
  }

  void parameter(const std::string& name, const Value& value) {
    // Until it is found good.
    if (!find_axis(parsing_.sweep, name)) parsing_.broken_axes.insert(name);
    if (!is_name(name)) {
      complain(value, name, "this is no name, expected letters, digits, '_', '-' and '.'");
      return;
    }
    if (!value.is_map()) {
      const char* key = value.is_list() ? "values" : "value";
      const std::string hint =
          value.is_null() ? "" : std::string("write {") + key + ": " + flow_text(value) + "}";
      complain(value, name,
               "found " + describe(value) + ", expected a map with value, values, or min and max",
               hint);
      return;
    }
    const auto& map = value.as_map();
    const bool nested = std::any_of(map.begin(), map.end(),
                                    [](const auto& entry) { return entry.first == "parameters"; });
    if (!nested) {
      axis(name, value);
      return;
    }
    parsing_.broken_axes.erase(name);
    Fields fields(value, "parameters." + name, parsing_.complaints);
    const Value* inner = fields.take("parameters");
    fields.finish();
    group(*inner, name);
  }

  /// `optimizer: {lr: {values: ...}}`: W&B's nesting without its inner `parameters`.
  bool nested_without_parameters(const std::string& name, const Value& value) {
    const auto& map = value.as_map();
    const bool options =
        !map.empty() && std::all_of(map.begin(), map.end(), [&](const auto& entry) {
          return entry.second.is_map() && Target(parsing_.schema, name + "." + entry.first).known();
        });
    if (!options) return false;
    const auto& [key, inner] = map.front();
    complain(value, name, "found options of " + name + ", expected value, values, or min and max",
             "write " + name + "." + key + ": " + flow_text(inner) + " under parameters");
    return true;
  }

  void axis(const std::string& name, const Value& value) {
    if (const Axis* first = find_axis(parsing_.sweep, name)) {
      complain(value, name, "the parameter stands twice, expected once",
               "first on line " + std::to_string(first->place.line));
      return;
    }
    if (nested_without_parameters(name, value)) return;
    Axis axis{name, value.place,
              read_distribution(value, "parameters." + name, parsing_.complaints)};
    if (!known(name, value)) return;
    if (!axis.distribution) return;
    check_values(axis);
    if (parsing_.sweep.method == Method::grid && !parsing_.method_unknown) check_grid(axis, value);
    parsing_.broken_axes.erase(name);
    parsing_.sweep.axes.push_back(std::move(axis));
  }

  bool known(const std::string& name, const Value& value) {
    const std::string key = resource_key(name);
    if (!key.empty()) {
      const std::vector<std::string> keys = resource_keys();
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return true;
      complain(value, name, "unknown parameter, expected resources." + any_of(keys),
               did_you_mean(key, keys));
      return false;
    }
    if (Target(parsing_.schema, name).known()) return true;
    const UnknownKey said = meant_by(name, value);
    parsing_.complaints.add_unknown(
        value.place, "parameters." + name,
        "unknown parameter, expected an option of train or of resources", said.meant, said.hint);
    return false;
  }

  UnknownKey meant_by(const std::string& name, const Value& value) const {
    UnknownKey said;
    if (name.compare(0, train_prefix.size(), train_prefix) == 0) {
      const std::string rest = name.substr(train_prefix.size());
      if (Target(parsing_.schema, rest).known()) {
        said.hint = "did you mean '" + rest + "'?";
        return said;
      }
    }
    // The model at hand decides what hidden_size is.
    const Value none = Map{};
    said = unknown_key("parameters", name, value, {}, [&](const std::string& path) {
      const bool own = path.compare(0, train_prefix.size(), train_prefix) == 0;
      return own && option_applies(parsing_.schema, train_ ? *train_ : none,
                                   path.substr(train_prefix.size()));
    });
    if (!said.hint.empty()) return said;
    if (const std::string near = Target::suggestion(parsing_.schema, name); !near.empty()) {
      said.hint = "did you mean '" + near + "'?";
      said.meant = std::string(train_prefix) + near;
    }
    return said;
  }

  void check_values(const Axis& axis) {
    const Distribution& distribution = *axis.distribution;
    const Target target(parsing_.schema, axis.name);
    if (const auto* values = distribution.listed()) {
      if (target.real() && decimal_commas(*values)) {
        complain(values->front(), axis.name,
                 "found " + flow_text(*values) + ", which is a list of whole numbers",
                 "a comma ends a value: write numbers with a point, as [0.001, 0.01]");
        return;
      }
      for (const Value& value : *values)
        check_value(axis, value);
      return;
    }
    const bool resource = !resource_key(axis.name).empty();
    Value sample = distribution.sample(0.5);
    sample.place = axis.place;
    if ((resource || target.whole()) && !distribution.whole()) {
      complain(sample, axis.name, "found a range of reals, expected whole numbers",
               "use int_uniform, or q_uniform with q: 1");
      return;
    }
    if (auto bounds = distribution.bounds()) {
      for (Value* end : {&bounds->first, &bounds->second}) {
        end->place = axis.place;
        if (!check_value(axis, *end)) return;
      }
    } else {
      check_value(axis, sample);
    }
  }

  bool check_value(const Axis& axis, const Value& value) {
    const std::string key = resource_key(axis.name);
    if (!key.empty()) {
      const std::size_t before = parsing_.complaints.size();
      Value map = Map{{key, value}};
      read_resources(map, "parameters.resources", parsing_.complaints);
      return parsing_.complaints.size() == before;
    }
    std::string hint;
    const std::string expected = Target(parsing_.schema, axis.name).misfit(value, &hint);
    if (expected.empty()) return true;
    if (hint.empty() && value.is_list())
      hint = "for several values write values: " + flow_text(value);
    if (hint.empty() && axis.distribution->exponents())
      hint =
          "min and max are natural-log exponents; for plain values write distribution: "
          "log_uniform_values";
    complain(value, axis.name, "found " + describe(value) + ", expected " + expected, hint);
    return false;
  }

  void check_grid(const Axis& axis, const Value& value) {
    constexpr std::size_t most = 1'000'000;
    const auto values = axis.distribution->grid();
    if (!values) {
      complain(value, axis.name,
               "this distribution has no end of values, expected one that grid search can list",
               "list values, use int_uniform or q_uniform, or method: random");
    } else if (values->size() > most) {
      complain(value, axis.name, "found more than 1000000 values, expected a shorter list");
    }
  }

  Parsing& parsing_;
  const Value* train_;
};

/// The axis of that name, or a complaint.
const Axis* wanted_axis(const std::string& name, Place place, const std::string& key,
                        Parsing& parsing) {
  const Axis* axis = find_axis(parsing.sweep, name);
  if (!axis && !parsing.broken_axes.count(name)) {
    const std::vector<std::string> names = axis_names(parsing.sweep);
    parsing.complaints.add(place, key, "found '" + name + "', expected the name of a parameter",
                           did_you_mean(name, names));
  }
  return axis;
}

void zip_group(const Value& value, Parsing& parsing, std::set<std::string>& used) {
  const auto complain = [&](const std::string& message, const std::string& hint = "") {
    parsing.complaints.add(value.place, "zip", message, hint);
  };
  const bool good = value.is_list() && value.as_list().size() >= 2 &&
                    std::all_of(value.as_list().begin(), value.as_list().end(),
                                [](const Value& item) { return item.is_string(); });
  if (!good) {
    complain("found " + describe(value) + ", expected a list of at least two parameters",
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
    if (!used.insert(name).second) complain("found " + name + " twice, expected once");
    const auto* values = axis->distribution->listed();
    if (!values || !axis->distribution->grid()) {
      complain("found " + name + " with a range, expected parameters with plain values");
      complete = false;
      continue;
    }
    if (!group.empty()) lengths += ", ";
    lengths += name + " has " + std::to_string(values->size());
    equal = equal && (group.empty() || values->size() == length);
    length = values->size();
    group.push_back(name);
  }
  if (!equal) complain("found lists of different lengths, expected equal ones", lengths);
  if (equal && complete) parsing.sweep.zip.push_back(std::move(group));
}

void when_condition(const std::string& axis, const std::string& on, const Value& value,
                    const Map& conditions, Parsing& parsing) {
  const std::string key = "when." + axis + "." + on;
  const auto complain = [&](const std::string& message, const std::string& hint = "") {
    parsing.complaints.add(value.place, key, message, hint);
  };
  const Target target(parsing.schema, on);
  if (!target.known()) {
    const UnknownKey said = unknown_key("parameters", on, value, {});
    const std::string near = said.hint.empty() ? Target::suggestion(parsing.schema, on) : "";
    complain("unknown option, expected an option of train",
             near.empty() ? said.hint : "did you mean '" + near + "'?");
    return;
  }
  const bool given =
      parsing.sweep.train.find(on) || find_axis(parsing.sweep, on) || parsing.broken_axes.count(on);
  if (!given) {
    complain("found a condition on '" + on +
                 "', which is left to its default, expected a parameter or an option set in train",
             "set train." + on);
    return;
  }
  const bool chained = std::any_of(conditions.begin(), conditions.end(),
                                   [&](const auto& entry) { return entry.first == on; });
  if (chained) {
    complain("found a condition on '" + on +
             "', which has a condition itself, expected a plain parameter");
    return;
  }
  When when{axis, on, value.is_list() ? value.as_list() : std::vector<Value>{value}};
  if (when.values.empty()) complain("found an empty list, expected at least one value");
  for (const Value& item : when.values) {
    std::string hint;
    const std::string expected = target.misfit(item, &hint);
    if (!expected.empty()) complain("found " + describe(item) + ", expected " + expected, hint);
  }
  parsing.sweep.when.push_back(std::move(when));
}

}  // namespace

void parse_parameters(const Value& value, const Value* train, Parsing& parsing) {
  ParameterReader(parsing, train).group(value, "");
}

void parse_zip(const Value& value, Parsing& parsing) {
  if (!value.is_list() || value.as_list().empty()) {
    parsing.complaints.add(value.place, "zip",
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

void parse_when(const Value& value, Parsing& parsing) {
  if (!value.is_map() || value.as_map().empty()) {
    parsing.complaints.add(value.place, "when",
                           "found " + describe(value) + ", expected conditions by parameter",
                           "as {optimizer.momentum: {optimizer.name: momentum}}");
    return;
  }
  for (const auto& [axis, conditions] : value.as_map()) {
    if (!wanted_axis(axis, conditions.place, "when", parsing)) continue;
    if (!conditions.is_map() || conditions.as_map().empty()) {
      parsing.complaints.add(conditions.place, "when." + axis,
                             "found " + describe(conditions) + ", expected a map of conditions",
                             "as {optimizer.name: [momentum, nesterov]}");
      continue;
    }
    for (const auto& [on, values] : conditions.as_map()) {
      when_condition(axis, on, values, value.as_map(), parsing);
    }
  }
}

const Axis* find_axis(const Sweep& sweep, std::string_view name) {
  for (const Axis& axis : sweep.axes) {
    if (axis.name == name) return &axis;
  }
  return nullptr;
}

std::vector<std::string> axis_names(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const Axis& axis : sweep.axes)
    names.push_back(axis.name);
  return names;
}

std::string resource_key(const std::string& axis) {
  if (axis.compare(0, resources_prefix.size(), resources_prefix) != 0) return "";
  return axis.substr(resources_prefix.size());
}

}  // namespace thalweg::jobspec
