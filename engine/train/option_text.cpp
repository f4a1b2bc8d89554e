#include "engine/train/option_text.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Schema;
using jobspec::Section;
using jobspec::Variant;

std::string list_of(const std::vector<Variant>& variants) {
  std::string text;
  for (const Variant& variant : variants)
    text += (text.empty() ? "" : ", ") + variant.name;
  return text;
}

std::string title(const Section& section) {
  return section.path.empty() ? "train" : section.path;
}

/// "outputs: output features (a whole number of at least 1; needed)"
std::string describe_option(const Option& option) {
  return option.name + (option.doc.empty() ? "" : ": " + option.doc) + " (" +
         range_and_default(option) + ")";
}

std::string line(const Option& option, const std::string& indent) {
  return indent + describe_option(option) + "\n";
}

/// "  name: which one (required)" of a section with alternatives.
std::string selector_line(const Section& section) {
  return "  " + section.selector + ": one of " + list_of(section.variants) + " (" +
         (section.default_value.empty() ? "required" : section.default_value) + ")\n";
}

std::string head(const Section& section) {
  return title(section) + ": " + section.doc + "\n";
}

std::string common(const Section& section) {
  std::string text = section.variants.empty() ? "" : selector_line(section);
  for (const Option& option : section.options)
    text += line(option, "  ");
  return text;
}

std::string alternative(const Section& section, const Variant& variant) {
  std::string text =
      section.path + ": {" + section.selector + ": " + variant.name + "}: " + variant.doc + "\n";
  for (const Option& option : variant.options)
    text += line(option, "  ");
  return text;
}

std::string overview(const Schema& schema) {
  std::string text;
  for (const Section& section : schema.sections) {
    text += head(section) + common(section);
    for (const Variant& variant : section.variants)
      text += "    " + variant.name + ": " + variant.doc + "\n";
  }
  return text +
         "\nMore of a part: thalweg-train --options data, data.arrays, optimizer.adamw, ...\n";
}

std::string parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return std::string(dot == path.npos ? "" : path.substr(0, dot));
}

std::string last_of(std::string_view path) {
  return std::string(path.substr(path.rfind('.') == path.npos ? 0 : path.rfind('.') + 1));
}

/// The section itself with all its alternatives; several where it has several selectors.
std::string of_section(const Schema& schema, std::string_view path) {
  std::string text;
  for (const Section& section : schema.sections) {
    if (section.path != path) continue;
    text += head(section) + common(section);
    for (const Variant& variant : section.variants)
      text += alternative(section, variant);
  }
  return text;
}

std::string of_alternative(const Schema& schema, std::string_view path) {
  std::string text;
  for (const Section& section : schema.sections) {
    if (section.path.empty() || section.path != parent_of(path)) continue;
    for (const Variant& variant : section.variants) {
      if (variant.name != last_of(path)) continue;
      text += alternative(section, variant);
      if (!section.options.empty()) text += "and, as with every " + section.selector + ":\n";
      for (const Option& option : section.options)
        text += line(option, "  ");
    }
  }
  return text;
}

std::string of_option(const Schema& schema, std::string_view path) {
  std::string text;
  for (const Section& section : schema.sections) {
    if (section.path != parent_of(path)) continue;
    const std::string name = last_of(path), prefix = section.path.empty() ? "" : section.path + ".";
    if (!section.variants.empty() && section.selector == name)
      text += prefix + name + ": one of " + list_of(section.variants) + "\n";
    for (const Option& option : section.options)
      if (option.name == name) text += prefix + line(option, "");
    for (const Variant& variant : section.variants)
      for (const Option& option : variant.options)
        if (option.name == name)
          text += prefix + describe_option(option) + ", of " + section.selector + ": " +
                  variant.name + "\n";
  }
  return text;
}

std::vector<std::string> all_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const Section& section : schema.sections) {
    const std::string prefix = section.path.empty() ? "" : section.path + ".";
    if (!section.path.empty()) names.push_back(section.path);
    for (const Option& option : section.options)
      names.push_back(prefix + option.name);
    for (const Variant& variant : section.variants) {
      names.push_back(prefix + variant.name);
      for (const Option& option : variant.options)
        names.push_back(prefix + option.name);
    }
  }
  return names;
}

}  // namespace

std::string range_and_default(const Option& option) {
  std::string text;
  for (const std::string& choice : option.choices)
    text += (text.empty() ? option.choices.size() > 1 ? "one of " : "" : ", ") + choice;
  if (text.empty()) text = jobspec::expected_of(option);
  if (option.required) return text + "; required";
  return option.default_value.is_null() ? text
                                        : text + "; default " + option.default_value.to_text();
}

std::string describe_options(const Schema& schema, std::string_view prefix) {
  constexpr std::string_view train = "train";
  if (prefix.substr(0, train.size() + 1) == "train.") prefix.remove_prefix(train.size() + 1);
  if (prefix.empty() || prefix == train) return overview(schema);
  for (auto* find : {of_section, of_alternative, of_option})
    if (std::string text = find(schema, prefix); !text.empty()) return text;
  const std::string near = jobspec::nearest(prefix, all_names(schema));
  throw std::invalid_argument("train holds no '" + std::string(prefix) + "'" +
                              (near.empty() ? "; thalweg-train --options lists what there is"
                                            : " (did you mean " + near + "?)"));
}

}  // namespace thalweg::engine
