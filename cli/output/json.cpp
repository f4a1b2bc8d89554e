#include "cli/output/json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

const Json nothing;
const Json empty_list = Json::array();

std::string dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string last_part(const std::string& dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

const Json& member(const Json& object, const char* key) {
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

const Json& element(const Json& list, std::size_t i) {
  return list.is_array() && i < list.size() ? list[i] : nothing;
}

const Json& list_at(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_array() ? value : empty_list;
}

std::optional<double> number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> number_at(const Json& object, const char* key) {
  return number_of(member(object, key));
}

long long count_at(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_number() ? value.get<long long>() : 0;
}

std::string text_at(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : plain_text(value);
}

bool flag_at(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

std::vector<std::string> texts_at(const Json& object, const char* key) {
  std::vector<std::string> texts;
  for (const Json& each : list_at(object, key))
    texts.push_back(plain_text(each));
  return texts;
}

std::string plain_text(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  return dump(value, -1);
}

std::string parameter_text(const Json& value) {
  return value.is_null() ? "null" : plain_text(value);
}

std::string shown_parameter(const Json& value) {
  if (value.is_string() && Json::accept(value.get_ref<const std::string&>()))
    return dump(value, -1);
  return parameter_text(value);
}

std::string parameter_label(const Json& parameters) {
  std::vector<std::string> parts;
  if (parameters.is_object())
    for (const auto& [name, value] : parameters.items())
      parts.push_back(value.is_string() ? shown_parameter(value)
                      : value.is_number_float()
                          ? last_part(name) + "=" + format_number(value.get<double>())
                          : last_part(name) + "=" + parameter_text(value));
  return printable(join(parts, ", "));
}

void print_json(std::ostream& out, const Json& value) {
  out << dump(value, 2) << '\n';
}
void print_json_line(std::ostream& out, const Json& value) {
  out << dump(value, -1) << '\n';
}

}  // namespace thalweg::cli
