// Fills in defaults, after check.h has found nothing wrong: what fits is said in one place.
#include "jobspec/complete.h"

#include <algorithm>
#include <set>

#include "jobspec/diagnostic.h"
#include "jobspec/reader.h"
#include "jobspec/table.h"

namespace thalweg::jobspec {
namespace {

/// Of a map's own keys, dots included.
const Value* find_key(const Value& map, const std::string& key) {
  for (const auto& [name, value] : map.as_map())
    if (name == key) return &value;
  return nullptr;
}

bool is_section(const Schema& schema, const std::string& path) {
  return std::any_of(schema.sections.begin(), schema.sections.end(),
                     [&](const Section& section) { return section.path == path; });
}

/// Without the options and sections that are null: they count as left out.
Value without_nulls(const Value& map, const std::string& path, const Schema& schema) {
  Value result = Map{};
  result.place = map.place;
  for (const auto& [key, value] : map.as_map()) {
    const std::string full = joined(path, key);
    const bool section = is_section(schema, full);
    if (value.is_null() && (section || Target(schema, full).known())) continue;
    result.as_map().emplace_back(
        key, section && value.is_map() ? without_nulls(value, full, schema) : value);
  }
  return result;
}

void fill(Value& result, const std::string& path, const std::vector<Option>& options,
          const Value& given) {
  for (const Option& option : options) {
    const Value* value = find_key(given, option.name);
    const Value& taken = value ? *value : option.default_value;
    if (!taken.is_null()) result.set(joined(path, option.name), taken);
  }
}

void fill_section(Value& result, const Section& section, const Value& given) {
  if (!section.variants.empty()) {
    const Value* name = find_key(given, section.selector);
    const std::string chosen = name ? name->as_string() : section.default_value;
    result.set(joined(section.path, section.selector), chosen);
    for (const Variant& variant : section.variants)
      if (variant.name == chosen) fill(result, section.path, variant.options, given);
  }
  fill(result, section.path, section.options, given);
}

}  // namespace

Value complete_train(const Value& given_train, const Schema& schema, const std::string& file) {
  Diagnostics diagnostics(file);
  if (!given_train.is_map())
    diagnostics.add(given_train.place, "train",
                    "found " + describe(given_train) + ", expected a map");
  diagnostics.throw_if_any();
  const Value train = without_nulls(given_train, "", schema);
  for (ValidationError& mismatch : check_train(train, schema, {}))
    report_error(std::move(mismatch), "train.", diagnostics);
  diagnostics.throw_if_any();

  Value result = Map{};
  std::set<std::string> filled;
  for (const Section& first : schema.sections) {
    if (!filled.insert(first.path).second) continue;
    if (!first.path.empty()) result.set(first.path, Map{});
    const Value nothing = Map{};
    const Value* given = first.path.empty() ? &train : train.find(first.path);
    for (const Section& section : schema.sections)
      if (section.path == first.path) fill_section(result, section, given ? *given : nothing);
  }
  return result;
}

Map complete_options(const Map& given, const std::vector<Option>& options,
                     std::vector<ValidationError>& errors) {
  std::vector<std::string> names;
  for (const Option& option : options)
    names.push_back(option.name);
  for (const auto& [key, value] : given) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    ValidationError unknown{value.place, key, "unknown key", did_you_mean(key, names)};
    errors.push_back(std::move(unknown));
  }
  Map complete;
  for (const Option& option : options) {
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const auto& entry) { return entry.first == option.name; });
    complete.emplace_back(option.name, found == given.end() ? option.default_value : found->second);
    if (found == given.end()) {
      if (!option.required) continue;
      ValidationError missing{{}, option.name, expected_of(option), option.doc};
      missing.missing = true;
      errors.push_back(std::move(missing));
      continue;
    }
    std::string hint;
    const std::string expected = mismatch(option, found->second, &hint);
    if (!expected.empty())
      errors.push_back({found->second.place, option.name,
                        "found " + describe(found->second) + ", expected " + expected, hint});
  }
  return complete;
}

}  // namespace thalweg::jobspec
