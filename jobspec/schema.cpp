#include "jobspec/schema.h"

#include <array>
#include <cmath>

#include "jobspec/reader.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t format = 1;

constexpr std::array<std::pair<OptionType, const char*>, 6> type_names{{
    {OptionType::boolean, "boolean"},
    {OptionType::integer, "integer"},
    {OptionType::real, "real"},
    {OptionType::text, "text"},
    {OptionType::list, "list"},
    {OptionType::map, "map"},
}};

Value option_to_value(const Option& option) {
  Map map{{"name", option.name}};
  for (const auto& [type, name] : type_names) {
    if (type == option.type) map.emplace_back("type", name);
  }
  if (!option.doc.empty()) map.emplace_back("doc", option.doc);
  if (!option.default_value.is_null()) map.emplace_back("default", option.default_value);
  if (option.required) map.emplace_back("required", true);
  if (std::isfinite(option.min)) map.emplace_back("min", option.min);
  if (std::isfinite(option.max)) map.emplace_back("max", option.max);
  if (option.above_min) map.emplace_back("above_min", true);
  if (option.or_auto) map.emplace_back("auto", true);
  if (!option.choices.empty()) {
    map.emplace_back("choices", List(option.choices.begin(), option.choices.end()));
  }
  if (!option.synonyms.empty()) {
    Map words;
    for (const auto& [word, choice] : option.synonyms)
      words.emplace_back(word, choice);
    map.emplace_back("synonyms", std::move(words));
  }
  if (!option.divides.empty()) map.emplace_back("divides", option.divides);
  if (option.path) map.emplace_back("path", true);
  if (option.or_list) map.emplace_back("or_list", true);
  if (!option.words.empty())
    map.emplace_back("words", List(option.words.begin(), option.words.end()));
  return map;
}

Value options_to_value(const std::vector<Option>& options) {
  List list;
  for (const Option& option : options)
    list.push_back(option_to_value(option));
  return list;
}

Value section_to_value(const Section& section) {
  Map map{{"path", section.path}, {"doc", section.doc}};
  map.emplace_back("options", options_to_value(section.options));
  if (section.variants.empty()) return map;
  map.emplace_back("selector", section.selector);
  List variants;
  for (const Variant& variant : section.variants) {
    Map written{{"name", variant.name},
                {"doc", variant.doc},
                {"options", options_to_value(variant.options)}};
    if (!variant.run_length.empty()) written.emplace_back("run_length", variant.run_length);
    variants.push_back(std::move(written));
  }
  map.emplace_back("variants", std::move(variants));
  if (!section.default_value.empty()) map.emplace_back("fallback", section.default_value);
  return map;
}

/// Calls `each(item, path)` for every item of a list that may be missing.
template <class Each>
void for_items(Fields& fields, std::string_view key, const Each& each) {
  const Value* value = fields.take(key);
  if (!value) return;
  if (!value->is_list()) {
    fields.wrong(*value, key, "a list");
    return;
  }
  for (std::size_t i = 0; i < value->as_list().size(); ++i) {
    each(value->as_list()[i], fields.path_of(key) + "[" + std::to_string(i) + "]");
  }
}

OptionType read_type(Fields& fields) {
  std::string found;
  fields.text("type", found);
  std::vector<std::string> names;
  for (const auto& [type, name] : type_names) {
    if (found == name) return type;
    names.emplace_back(name);
  }
  if (!found.empty()) fields.wrong(found, "type", any_of(names), did_you_mean(found, names));
  return OptionType::text;
}

void read_synonyms(Fields& fields, Option& option) {
  const Value* const words = fields.take("synonyms");
  if (!words) return;
  if (!words->is_map()) {
    fields.wrong(*words, "synonyms", "a map");
    return;
  }
  for (const auto& [word, choice] : words->as_map())
    option.synonyms.emplace_back(word, choice.to_text());
}

Option read_option(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  Option option;
  Fields fields(value, path, diagnostics);
  fields.text("name", option.name);
  option.type = read_type(fields);
  fields.text("doc", option.doc);
  if (const Value* default_value = fields.take("default")) option.default_value = *default_value;
  fields.boolean("required", option.required);
  fields.real("min", option.min);
  fields.real("max", option.max);
  fields.boolean("above_min", option.above_min);
  fields.boolean("auto", option.or_auto);
  fields.texts("choices", option.choices);
  read_synonyms(fields, option);
  fields.text("divides", option.divides);
  fields.boolean("path", option.path);
  fields.boolean("or_list", option.or_list);
  fields.texts("words", option.words);
  fields.finish();
  return option;
}

std::vector<Option> read_options(Fields& fields, Diagnostics& diagnostics) {
  std::vector<Option> options;
  for_items(fields, "options", [&](const Value& item, const std::string& path) {
    options.push_back(read_option(item, path, diagnostics));
  });
  return options;
}

Section read_section(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  Section section;
  Fields fields(value, path, diagnostics);
  fields.text("path", section.path);
  fields.text("doc", section.doc);
  section.options = read_options(fields, diagnostics);
  fields.text("selector", section.selector);
  fields.text("fallback", section.default_value);
  for_items(fields, "variants", [&](const Value& item, const std::string& item_path) {
    Variant variant;
    Fields inner(item, item_path, diagnostics);
    inner.text("name", variant.name);
    inner.text("doc", variant.doc);
    inner.text("run_length", variant.run_length);
    variant.options = read_options(inner, diagnostics);
    inner.finish();
    section.variants.push_back(std::move(variant));
  });
  fields.finish();
  return section;
}

}  // namespace

const Schema& open_schema() {
  static const Schema schema{"", {}, true};
  return schema;
}

std::string Schema::to_json() const {
  List list;
  for (const Section& section : sections)
    list.push_back(section_to_value(section));
  return Value(Map{{"format", format}, {"version", version}, {"sections", std::move(list)}})
      .to_json();
}

Schema Schema::from_json(std::string_view json) {
  const std::string name = "schema";
  const Value value = read_yaml(json, name);
  Diagnostics diagnostics(name);
  Schema schema;
  Fields fields(value, "", diagnostics);
  std::int64_t found = format;
  fields.integer("format", found, {format, format});
  fields.text("version", schema.version);
  for_items(fields, "sections", [&](const Value& item, const std::string& path) {
    schema.sections.push_back(read_section(item, path, diagnostics));
  });
  fields.take_quietly("metrics");  // what runs report: not for `train`
  fields.finish();
  diagnostics.throw_if_any();
  return schema;
}

}  // namespace thalweg::jobspec
