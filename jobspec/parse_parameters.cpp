// `parameters` of a sweep file.
#include <algorithm>
#include <cmath>

#include "jobspec/check.h"
#include "jobspec/hash.h"
#include "jobspec/parse.h"
#include "jobspec/random.h"
#include "jobspec/resources.h"
#include "jobspec/search/search.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

constexpr std::string_view resources_prefix = "resources.";
constexpr std::string_view train_prefix = "train.";
constexpr std::int64_t max_grid_values = 1'000'000;

/// As in W&B's schema: a letter or underscore, then letters, digits, underscores, dots and dashes.
/// What programs read has more, which W&B takes, too: Hydra's +key, group/option and group@package.
bool is_name(const std::string& name, bool own) {
  const auto letter = [own](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (own && std::string_view("+~/@").find(c) != std::string_view::npos);
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
      parsing_.diagnostics.add(value.place, path,
                               "found " + describe(value) + ", expected parameters by name",
                               value.is_list() ? "leave out the '-' before each name" : "");
      return;
    }
    for (const auto& [key, inner] : value.as_map()) {
      parameter(prefix.empty() ? key : prefix + "." + key, inner);
    }
  }

 private:
  void report_error(const Value& at, const std::string& name, std::string message,
                    std::string hint = {}) {
    parsing_.diagnostics.add(at.place, "parameters." + name, std::move(message), std::move(hint));
  }

  void parameter(const std::string& name, const Value& value) {
    // Until it is found good.
    if (!find_axis(parsing_.sweep, name)) parsing_.broken_axes.insert(name);
    if (!is_name(name, parsing_.own)) {
      report_error(value, name,
                   std::string("this is no name, expected letters, digits, '_', '-' and '.'") +
                       (parsing_.own ? ", of Hydra's '+', '~', '/' and '@', too" : ""));
      return;
    }
    if (!value.is_map()) {
      const char* key = value.is_list() ? "values" : "value";
      const std::string hint =
          value.is_null() ? "" : std::string("write {") + key + ": " + flow_text(value) + "}";
      report_error(
          value, name,
          "found " + describe(value) + ", expected a map with value, values, or min and max", hint);
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
    Fields fields(value, "parameters." + name, parsing_.diagnostics);
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
    report_error(value, name,
                 "found options of " + name + ", expected value, values, or min and max",
                 "write " + name + "." + key + ": " + flow_text(inner) + " under parameters");
    return true;
  }

  void axis(const std::string& name, const Value& value) {
    if (const Axis* first = find_axis(parsing_.sweep, name)) {
      report_error(value, name, "the parameter is given twice, expected once",
                   "first on line " + std::to_string(first->place.line));
      return;
    }
    if (nested_without_parameters(name, value)) return;
    Axis axis{name, value.place,
              read_distribution(value, "parameters." + name, parsing_.diagnostics)};
    if (!known(name, value)) return;
    if (!axis.distribution) return;
    check_values(axis);
    if (!read_samples(axis, value)) return;
    if (parsing_.sweep.method->lists() && !parsing_.method_unknown) check_grid(axis, value);
    parsing_.broken_axes.erase(name);
    parsing_.sweep.axes.push_back(std::move(axis));
  }

  bool known(const std::string& name, const Value& value) {
    const std::string key = resource_key(name);
    if (!key.empty()) {
      const std::vector<std::string> keys = resource_keys();
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) return true;
      report_error(value, name, "unknown parameter, expected resources." + any_of(keys),
                   did_you_mean(key, keys));
      return false;
    }
    if (Target(parsing_.schema, name).known()) return true;
    const UnknownKey said = meant_by(name, value);
    parsing_.diagnostics.add_unknown(
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
    said = unknown_key(
        "parameters", name, value, {},
        [&](const std::string& path) {
          const bool own = path.compare(0, train_prefix.size(), train_prefix) == 0;
          return own && option_applies(parsing_.schema, train_ ? *train_ : none,
                                       path.substr(train_prefix.size()));
        },
        [&](const Meaning& meaning) {
          return cannot_be_given(parsing_.schema, train_ ? *train_ : none, meaning);
        });
    if (!said.hint.empty()) return said;
    const std::string near = Target::suggestion(parsing_.schema, train_ ? *train_ : none, name);
    if (!near.empty()) {
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
        report_error(values->front(), axis.name,
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
      report_error(sample, axis.name, "found a range of reals, expected whole numbers",
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
      const std::size_t before = parsing_.diagnostics.size();
      Value map = Map{{key, value}};
      read_resources(map, "parameters.resources", parsing_.diagnostics);
      return parsing_.diagnostics.size() == before;
    }
    std::string hint;
    const std::string expected = Target(parsing_.schema, axis.name).mismatch(value, &hint);
    if (expected.empty()) return true;
    if (hint.empty() && value.is_list())
      hint = "for several values write values: " + flow_text(value);
    if (hint.empty() && axis.distribution->exponents())
      hint =
          "min and max are natural-log exponents; for plain values write distribution: "
          "log_uniform_values";
    report_error(value, axis.name, "found " + describe(value) + ", expected " + expected, hint);
    return false;
  }

  /// A grid may go through `samples` draws of a distribution: those that random search would make.
  bool read_samples(Axis& axis, const Value& value) {
    Fields fields(value, "parameters." + axis.name, parsing_.diagnostics);
    const Value* given = fields.take("samples");
    if (!given) return true;
    std::int64_t count = 0;
    if (!fields.integer("samples", count, {1, max_grid_values})) return false;
    const bool listed = axis.distribution->listed() && axis.distribution->grid();
    if (listed || !parsing_.sweep.method->lists()) {
      parsing_.diagnostics.add(given->place, "parameters." + axis.name + ".samples",
                               listed ? "found draws of plain values, expected no such key"
                                      : "found draws for a grid, expected no such key",
                               listed ? "a grid goes through all of them"
                                      : "leave it out: run_cap says how many there are");
      return false;
    }
    std::vector<Value> draws;
    const std::uint64_t stream = hash128(axis.name)[0];
    for (std::int64_t i = 0; i < count; ++i) {
      draws.push_back(axis.distribution->sample(
          uniform(parsing_.sweep.seed, static_cast<std::uint64_t>(i), stream)));
    }
    axis.distribution = sampled(axis.distribution, std::move(draws));
    return true;
  }

  void check_grid(const Axis& axis, const Value& value) {
    const auto values = axis.distribution->grid();
    if (!values && axis.distribution->listed()) {
      report_error(value, axis.name,
                   "found probabilities, but a grid goes through each value once, expected none",
                   "leave them out, or write method: random and run_cap");
    } else if (!values) {
      report_error(
          value, axis.name,
          "this distribution has infinitely many values, expected one that grid search can list",
          "add samples: 5 for as many draws, list values, or use method: random");
    } else if (values->size() > static_cast<std::size_t>(max_grid_values)) {
      report_error(value, axis.name, "found more than 1000000 values, expected a shorter list");
    }
  }

  Parsing& parsing_;
  const Value* train_;
};

}  // namespace

void parse_parameters(const Value& value, const Value* train, Parsing& parsing) {
  ParameterReader(parsing, train).group(value, "");
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
