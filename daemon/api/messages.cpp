#include "daemon/api/messages.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/time_text.h"
#include "daemon/api/fields.h"
#include "jobspec/value.h"

namespace thalweg::daemon::api {

using nlohmann::json;

std::string json_text(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

json number_json(double value) {
  return fields::number(value);
}

double number_from(const json& value) {
  return fields::number_from(value);
}

double time_from(const json& value, double fallback) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return fallback;
  return read_time(value.get_ref<const std::string&>()).value_or(fallback);
}

namespace {

struct ToJson {
  json operator()(std::monostate) const { return nullptr; }
  json operator()(bool value) const { return value; }
  json operator()(std::int64_t value) const { return value; }
  json operator()(double value) const { return number_json(value); }
  json operator()(const std::string& value) const { return value; }
  json operator()(const jobspec::List& list) const {
    json result = json::array();
    for (const auto& item : list)
      result.push_back(value_json(item));
    return result;
  }
  json operator()(const jobspec::Map& map) const {
    json result = json::object();
    for (const auto& [key, item] : map)
      result[key] = value_json(item);
    return result;
  }
};

}  // namespace

json value_json(const jobspec::Value& value) {
  return std::visit(ToJson{}, value.data());
}

json error_json(const std::string& message, const std::vector<jobspec::Diagnostic>& diagnostics) {
  json error{{"message", message}};
  for (const auto& d : diagnostics)
    error["diagnostics"].push_back({{"file", d.file},
                                    {"line", d.place.line},
                                    {"column", d.place.column},
                                    {"key", d.key},
                                    {"message", d.message},
                                    {"hint", d.hint}});
  return {{"error", error}};
}

std::vector<jobspec::Diagnostic> diagnostics_from(const json& body) {
  std::vector<jobspec::Diagnostic> result;
  if (!body.is_object() || !body.contains("error")) return result;
  const json& error = body["error"];
  if (!error.is_object() || !error.contains("diagnostics")) return result;
  for (const auto& d : error["diagnostics"])
    result.push_back({d.value("file", ""),
                      {d.value("line", 0), d.value("column", 0)},
                      d.value("key", ""),
                      d.value("message", ""),
                      d.value("hint", "")});
  return result;
}

std::string message_from(const json& body) {
  if (body.is_object() && body.contains("error") && body["error"].is_object())
    return body["error"].value("message", json_text(body));
  return body.is_string() ? body.get<std::string>() : json_text(body);
}

std::string url_encode(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      result += c;
    } else {
      result += '%';
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result;
}

namespace {
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

std::string url_decode(std::string_view text, bool query) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) throw std::invalid_argument("broken %XX in the address");
      result += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      result += query && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

}  // namespace thalweg::daemon::api
