#include "jobspec/option.h"

#include <utility>

namespace thalweg::jobspec {
namespace {

Option make(std::string name, OptionType type, Value fallback, std::string doc) {
  Option option;
  option.name = std::move(name);
  option.type = type;
  option.or_auto = fallback.is_string() && type != OptionType::text;
  option.fallback = std::move(fallback);
  option.doc = std::move(doc);
  return option;
}

Option number(std::string name, OptionType type, Value fallback, double min, double max,
              std::string doc) {
  Option option = make(std::move(name), type, std::move(fallback), std::move(doc));
  option.min = min;
  option.max = max;
  return option;
}

}  // namespace

Option real_option(std::string name, double fallback, double min, double max, std::string doc) {
  return number(std::move(name), OptionType::real, fallback, min, max, std::move(doc));
}

Option real_option(std::string name, Value fallback, double min, double max, std::string doc) {
  return number(std::move(name), OptionType::real, std::move(fallback), min, max, std::move(doc));
}

Option whole_option(std::string name, std::int64_t fallback, double min, double max,
                    std::string doc) {
  return number(std::move(name), OptionType::integer, fallback, min, max, std::move(doc));
}

Option whole_option(std::string name, Value fallback, double min, double max, std::string doc) {
  return number(std::move(name), OptionType::integer, std::move(fallback), min, max,
                std::move(doc));
}

Option flag_option(std::string name, bool fallback, std::string doc) {
  return make(std::move(name), OptionType::boolean, fallback, std::move(doc));
}

Option choice_option(std::string name, std::vector<std::string> choices, std::string doc) {
  Option option = make(std::move(name), OptionType::text, choices.front(), std::move(doc));
  option.choices = std::move(choices);
  return option;
}

Option text_option(std::string name, Value fallback, std::string doc) {
  return make(std::move(name), OptionType::text, std::move(fallback), std::move(doc));
}

Option path_option(std::string name, Value fallback, std::string doc) {
  Option option = text_option(std::move(name), std::move(fallback), std::move(doc));
  option.path = true;
  return option;
}

Option list_option(std::string name, Value fallback, std::string doc) {
  return make(std::move(name), OptionType::list, std::move(fallback), std::move(doc));
}

Option needed(Option option) {
  option.required = true;
  option.fallback = {};
  return option;
}

Option above_min(Option option) {
  option.above_min = true;
  return option;
}

}  // namespace thalweg::jobspec
