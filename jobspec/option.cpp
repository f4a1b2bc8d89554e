#include "jobspec/option.h"

#include <utility>

namespace thalweg::jobspec {
namespace {

Option make(std::string name, OptionType type, Value default_value, std::string doc) {
  Option option;
  option.name = std::move(name);
  option.type = type;
  option.or_auto = default_value.is_string() && type != OptionType::text;
  option.default_value = std::move(default_value);
  option.doc = std::move(doc);
  return option;
}

Option number(std::string name, OptionType type, Value default_value, double min, double max,
              std::string doc) {
  Option option = make(std::move(name), type, std::move(default_value), std::move(doc));
  option.min = min;
  option.max = max;
  return option;
}

}  // namespace

Option float_option(std::string name, double default_value, double min, double max,
                    std::string doc) {
  return number(std::move(name), OptionType::real, default_value, min, max, std::move(doc));
}

Option float_option(std::string name, Value default_value, double min, double max,
                    std::string doc) {
  return number(std::move(name), OptionType::real, std::move(default_value), min, max,
                std::move(doc));
}

Option int_option(std::string name, std::int64_t default_value, double min, double max,
                  std::string doc) {
  return number(std::move(name), OptionType::integer, default_value, min, max, std::move(doc));
}

Option int_option(std::string name, Value default_value, double min, double max, std::string doc) {
  return number(std::move(name), OptionType::integer, std::move(default_value), min, max,
                std::move(doc));
}

Option flag_option(std::string name, bool default_value, std::string doc) {
  return make(std::move(name), OptionType::boolean, default_value, std::move(doc));
}

Option choice_option(std::string name, std::vector<std::string> choices, std::string doc) {
  Option option = make(std::move(name), OptionType::text, choices.front(), std::move(doc));
  option.choices = std::move(choices);
  return option;
}

Option string_option(std::string name, Value default_value, std::string doc) {
  return make(std::move(name), OptionType::text, std::move(default_value), std::move(doc));
}

Option path_option(std::string name, Value default_value, std::string doc) {
  Option option = string_option(std::move(name), std::move(default_value), std::move(doc));
  option.path = true;
  return option;
}

std::vector<Value> no_paths_of(const Option& option) {
  std::vector<Value> values(option.words.begin(), option.words.end());
  values.push_back(option.default_value);
  return values;
}

Option list_option(std::string name, Value default_value, std::string doc) {
  return make(std::move(name), OptionType::list, std::move(default_value), std::move(doc));
}

Option required(Option option) {
  option.required = true;
  option.default_value = {};
  return option;
}

Option or_list(Option option) {
  option.or_list = true;
  return option;
}

Option above_min(Option option) {
  option.above_min = true;
  return option;
}

}  // namespace thalweg::jobspec
