// Whether one value fits one option, and what a dotted path means to the schema.
#include <algorithm>
#include <cmath>

#include "jobspec/check.h"
#include "jobspec/reader.h"
#include "jobspec/scalar.h"

namespace thalweg::jobspec {
namespace {

std::string range_of(const Option& option) {
  const auto text = [](double d) {
    return std::trunc(d) == d && std::fabs(d) < 1e15 ? Value(static_cast<std::int64_t>(d)).to_text()
                                                     : Value(d).to_text();
  };
  const bool low = std::isfinite(option.min), high = std::isfinite(option.max);
  if (low && high && !option.above_min) {
    return " from " + text(option.min) + " to " + text(option.max);
  }
  std::string range;
  if (low) range += (option.above_min ? " above " : " of at least ") + text(option.min);
  if (low && high) range += " and";
  if (high) range += " of at most " + text(option.max);
  return range;
}

bool is_finite(const Value& value) {
  if (value.is_list()) {
    return std::all_of(value.as_list().begin(), value.as_list().end(), is_finite);
  }
  if (value.is_map()) {
    return std::all_of(value.as_map().begin(), value.as_map().end(),
                       [](const auto& entry) { return is_finite(entry.second); });
  }
  return !value.is_number() || std::isfinite(value.as_double());
}

bool fits_number(const Option& option, const Value& value) {
  if (!value.is_number()) return false;
  const double number = value.as_double();
  if (option.type == OptionType::integer && std::trunc(number) != number) return false;
  if (option.above_min && number == option.min) return false;
  return number >= option.min && number <= option.max;
}

bool fits(const Option& option, const Value& value) {
  if (!is_finite(value)) return false;
  if (option.or_auto && value == Value("auto")) return true;
  switch (option.type) {
    case OptionType::boolean:
      return value.is_bool();
    case OptionType::integer:
    case OptionType::real:
      return fits_number(option, value);
    case OptionType::text:
      return value.is_string() &&
             (option.choices.empty() || std::find(option.choices.begin(), option.choices.end(),
                                                  value.as_string()) != option.choices.end());
    case OptionType::list:
      return value.is_list();
    case OptionType::map:
      return value.is_map();
  }
  return false;
}

std::string hint_for(const Option& option, const Value& value) {
  for (const auto& [word, choice] : option.synonyms)
    if (value.to_text() == word) return "did you mean '" + choice + "'?";
  if (value.is_string()) {
    const std::string& text = value.as_string();
    if (option.type == OptionType::boolean) {
      if (text == "yes" || text == "on") return "write true";
      if (text == "no" || text == "off") return "write false";
    }
    if (!option.choices.empty()) return did_you_mean(text, option.choices);
    const bool number = option.type == OptionType::integer || option.type == OptionType::real;
    if (number && fits(option, read_scalar(text).value_or(Value()))) return "remove the quotes";
    if (option.or_auto) return did_you_mean(text, {"auto"});
  }
  if (option.type == OptionType::text && value.is_number()) return "put it in quotes";
  return "";
}

}  // namespace

std::string expected_of(const Option& option) {
  std::string text;
  switch (option.type) {
    case OptionType::boolean:
      text = "true or false";
      break;
    case OptionType::integer:
      text = "a whole number" + range_of(option);
      break;
    case OptionType::real:
      text = "a number" + range_of(option);
      break;
    case OptionType::text:
      text = option.choices.empty() ? "text" : any_of(option.choices);
      break;
    case OptionType::list:
      text = "a list";
      break;
    case OptionType::map:
      text = "a map";
      break;
  }
  return option.or_auto ? text + ", or auto" : text;
}

std::string joined(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : std::string(path) + "." + std::string(key);
}

const Option* find_option(const std::vector<Option>& options, std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string misfit(const Section& section, const Value& value, std::string* hint) {
  std::vector<std::string> names;
  for (const Variant& variant : section.variants)
    names.push_back(variant.name);
  if (value.is_string()) {
    if (std::find(names.begin(), names.end(), value.as_string()) != names.end()) return "";
    *hint = did_you_mean(value.as_string(), names);
  }
  return any_of(names);
}

std::string misfit(const Option& option, const Value& value, std::string* hint) {
  if (fits(option, value)) return "";
  *hint = hint_for(option, value);
  return expected_of(option);
}

Target::Target(const Schema& schema, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view parent = dot == path.npos ? "" : path.substr(0, dot);
  const std::string_view key = dot == path.npos ? path : path.substr(dot + 1);
  for (const Section& section : schema.sections) {
    if (section.path != parent) continue;
    if (!section.variants.empty() && section.selector == key) {
      selector_ = &section;
      return;
    }
    if (const Option* option = find_option(section.options, key)) options_.push_back(option);
    for (const Variant& variant : section.variants) {
      if (const Option* option = find_option(variant.options, key)) options_.push_back(option);
    }
  }
}

bool Target::whole() const {
  return !options_.empty() && std::all_of(options_.begin(), options_.end(), [](const Option* o) {
    return o->type == OptionType::integer;
  });
}

std::string Target::misfit(const Value& value, std::string* hint) const {
  if (selector_) return jobspec::misfit(*selector_, value, hint);
  std::string expected;
  for (const Option* option : options_) {
    expected = jobspec::misfit(*option, value, hint);
    if (expected.empty()) return "";
  }
  return expected;
}

std::string Target::suggestion(const Schema& schema, std::string_view path) {
  std::vector<std::string> paths, same_key;
  const std::string_view key = path.substr(path.rfind('.') == path.npos ? 0 : path.rfind('.') + 1);
  const auto add = [&](const Section& section, const std::string& name) {
    paths.push_back(joined(section.path, name));
    if (name == key) same_key.push_back(paths.back());
  };
  for (const Section& section : schema.sections) {
    if (!section.variants.empty()) add(section, section.selector);
    for (const Option& option : section.options)
      add(section, option.name);
    for (const Variant& variant : section.variants) {
      for (const Option& option : variant.options)
        add(section, option.name);
    }
  }
  const std::string hint = did_you_mean(path, paths);
  if (!hint.empty()) return hint;
  // The right word in the wrong place.
  return same_key.size() == 1 || (!same_key.empty() && key != "name")
             ? "did you mean '" + same_key.front() + "'?"
             : "";
}

}  // namespace thalweg::jobspec
