// Whether one value fits one option, and what a dotted path means to the schema.
#include <algorithm>
#include <cmath>

#include "jobspec/check.h"
#include "jobspec/reader.h"
#include "jobspec/scalar.h"
#include "jobspec/synonyms.h"

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

bool fits_one(const Option& option, const Value& value) {
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

bool fits(const Option& option, const Value& value) {
  if (!is_finite(value)) return false;
  if (option.or_auto && value == Value("auto")) return true;
  if (!option.or_list || !value.is_list()) return fits_one(option, value);
  const List& items = value.as_list();
  return !items.empty() && std::all_of(items.begin(), items.end(),
                                       [&](const Value& item) { return fits_one(option, item); });
}

/// More names than these push the hint out of sight.
constexpr std::size_t shown_names = 12;

/// What a person meant who wrote a number as no YAML reader reads it.
std::string number_hint(const std::string& text) {
  std::string digits = text;
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) digits.pop_back();
  std::replace(digits.begin(), digits.end(), ',', '.');
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  digits.erase(std::remove(digits.begin(), digits.end(), ' '), digits.end());
  if (digits == text) {
    const bool formula =
        text.find_first_of("*/^") != text.npos && text.find_first_of("0123456789") != text.npos;
    return formula ? "nothing is calculated here: write the number" : "";
  }
  const Value number = read_scalar(digits).value_or(Value());
  if (!number.is_number()) return "";
  return "write " + (percent ? Value(number.as_double() / 100) : number).to_text();
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
    if (number) {
      if (const std::string hint = number_hint(text); !hint.empty()) return hint;
      if (squashed(text) == "none") return "leave the key out";
    }
    if (option.or_auto) return did_you_mean(text, {"auto"});
  }
  if (option.type == OptionType::text && value.is_number()) return "put it in quotes";
  if (option.type == OptionType::list && value.is_number())
    return "write [" + value.to_text() + "]";
  if (option.type == OptionType::real && value.is_number() && option.min == 0 && option.max <= 1) {
    const Value share = value.as_double() / 100;
    if (value.as_double() > 1 && fits(option, share))
      return "a share, not per cent: write " + share.to_text();
  }
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
      text = option.choices.empty() ? "text" : some_of(option.choices);
      break;
    case OptionType::list:
      text = "a list";
      break;
    case OptionType::map:
      text = "a map";
      break;
  }
  if (option.or_list) text += ", or a list of such";
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

std::string value_hint(const std::string& path, const std::string& text,
                       const std::vector<std::string>& names) {
  const std::string hint = word_hint("train." + path, text, names);
  if (!hint.empty() || path != "data.name") return hint;
  const std::string data = data_of_file(text);
  return data.empty() ? "" : "write " + data;
}

std::string mismatch(const Section& section, const Value& value, std::string* hint) {
  std::vector<std::string> names;
  for (const Variant& variant : section.variants)
    names.push_back(variant.name);
  if (value.is_string()) {
    if (std::find(names.begin(), names.end(), value.as_string()) != names.end()) return "";
    const std::string selector = joined(section.path, section.selector);
    *hint = value_hint(selector, value.as_string(), names);
    if (!hint->empty() && names.size() > shown_names) {
      return "one of the " + std::to_string(names.size()) + " names that thalweg-train --options " +
             selector + " lists";
    }
  }
  return some_of(names);
}

std::string mismatch(const Option& option, const Value& value, std::string* hint) {
  if (fits(option, value)) return "";
  *hint = hint_for(option, value);
  return expected_of(option);
}

std::string mismatch_at(const std::string& path, const Option& option, const Value& value,
                        std::string* hint) {
  const std::string expected = mismatch(option, value, hint);
  const bool word = value.is_string() && !option.choices.empty();
  const bool told = std::any_of(option.synonyms.begin(), option.synonyms.end(),
                                [&](const auto& row) { return value.to_text() == row.first; });
  if (!expected.empty() && word && !told)
    *hint = value_hint(path, value.as_string(), option.choices);
  return expected;
}

Target::Target(const Schema& schema, std::string_view path) : path_(path), open_(schema.open) {
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

bool Target::real() const {
  return !options_.empty() && options_.front()->type == OptionType::real;
}

std::string Target::mismatch(const Value& value, std::string* hint) const {
  if (selector_) return jobspec::mismatch(*selector_, value, hint);
  if (open_ && value.is_number() && !std::isfinite(value.as_double())) return "a finite number";
  std::string expected;
  for (const Option* option : options_) {
    expected = mismatch_at(path_, *option, value, hint);
    if (expected.empty()) return "";
  }
  return expected;
}

std::string Target::suggestion(const Schema& schema, const Value& train, std::string_view path) {
  std::vector<std::string> paths, same_key;
  const std::string_view key = path.substr(path.rfind('.') == path.npos ? 0 : path.rfind('.') + 1);
  const std::string_view parent = path.substr(0, path.size() - key.size());
  const auto add = [&](const Section& section, const std::string& name) {
    const std::string full = joined(section.path, name);
    if (!option_applies(schema, train, full)) return;
    if (name == key) same_key.push_back(full);
    // In the same section only the keys count, or their common start would make any two alike.
    const bool sibling = full.substr(0, full.size() - name.size()) == parent;
    if (!sibling || !likely(key, {name}).empty()) paths.push_back(full);
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
  if (const std::string near = likely(path, paths); !near.empty()) return near;
  // The right word in the wrong place.
  const bool found = same_key.size() == 1 || (!same_key.empty() && key != "name");
  return found ? same_key.front() : "";
}

bool option_applies(const Schema& schema, const Value& train, const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::string parent = dot == path.npos ? "" : path.substr(0, dot);
  const std::string key = dot == path.npos ? path : path.substr(dot + 1);
  for (const Section& section : schema.sections) {
    if (section.path != parent) continue;
    if (!section.variants.empty() && section.selector == key) return true;
    if (find_option(section.options, key)) return true;
    const Value* picked = train.find(joined(parent, section.selector));
    const auto is_picked = [&](const Variant& variant) { return *picked == Value(variant.name); };
    // A name that none has is a slip of its own: any variant may be meant.
    const bool any =
        !picked || std::none_of(section.variants.begin(), section.variants.end(), is_picked);
    for (const Variant& variant : section.variants) {
      const bool may = any || is_picked(variant);
      if (may && find_option(variant.options, key)) return true;
    }
  }
  return false;
}

namespace {

/// "schedule: {warmup: linear, warmup_steps: 500}" picks the variant that has the key.
bool writes_section(const Meaning& meaning) {
  const std::string path = meaning.means.substr(0, meaning.means.rfind('.'));
  const std::string section = path.substr(path.rfind('.') + 1);
  return meaning.remedy.find(section + ": {") != std::string::npos;
}

bool is_section_of(const Schema& schema, const std::string& path) {
  return std::any_of(schema.sections.begin(), schema.sections.end(),
                     [&](const Section& section) { return section.path == path; });
}

}  // namespace

bool cannot_be_given(const Schema& schema, const Value& train, const Meaning& meaning) {
  constexpr std::string_view prefix = "train.";
  if (!meaning.means.starts_with(prefix)) return false;
  const std::string in_train = meaning.means.substr(prefix.size());
  if (is_section_of(schema, in_train)) return false;
  if (!Target(schema, in_train).known()) return true;
  return !option_applies(schema, train, in_train) && !writes_section(meaning);
}

std::string vary_hint(const std::string& path, const Value& value) {
  const std::string target = "under parameters write " + path + ": ";
  if (value.is_list() && !value.as_list().empty())
    return target + "{values: " + flow_text(value) + "}";
  if (!value.is_map()) return "";
  for (const char* key : {"values", "value", "min", "distribution"}) {
    if (value.find(key)) return target + flow_text(value);
  }
  return "";
}

std::string section_hint(const Schema& schema, const std::string& path, const Value& value) {
  const std::string main = main_key("train." + path);
  const auto as_map = [&](const std::string& key, const std::string& text) {
    return "write " + path + ": {" + key + ": " + text + "}";
  };
  if (path == "augment" && value == Value(true)) return "write augment: {flip: 0.5, crop: 4}";
  if (value.is_bool() && !value.as_bool()) return "leave it out";
  if (!main.empty()) {
    if (value.is_list()) return vary_hint(joined(path, main), value);
    if (!value.is_bool()) return value.is_null() ? "" : as_map(main, value.to_text());
    const Target target(schema, joined(path, main));
    std::string unused;
    return as_map(main, target.mismatch(Value("auto"), &unused).empty() ? "auto" : "1");
  }
  std::string fallback;
  for (const Section& section : schema.sections) {
    if (section.path != path || section.variants.empty()) continue;
    const std::string full = joined(path, section.selector);
    if (value.is_list()) return vary_hint(full, value);
    std::vector<std::string> names;
    for (const Variant& variant : section.variants)
      names.push_back(variant.name);
    if (fallback.empty()) fallback = as_map(section.selector, "...") + " with " + some_of(names);
    if (!value.is_string()) continue;
    const std::string& text = value.as_string();
    if (const std::string data = path == "data" ? data_of_file(text) : ""; !data.empty())
      return "write " + data;
    std::string hint;
    if (mismatch(section, value, &hint).empty()) return as_map(section.selector, text);
    const auto meaning = meaning_of_value("train." + full, text);
    const bool there =
        meaning && std::find(names.begin(), names.end(), meaning->means) != names.end();
    if (meaning && !meaning->remedy.empty() && (there || meaning->means.empty()))
      return meaning->remedy;
    const std::string near = there ? meaning->means : likely(text, names);
    if (!near.empty()) return as_map(section.selector, near);
  }
  return fallback;
}

}  // namespace thalweg::jobspec
