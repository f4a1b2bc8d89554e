#include "jobspec/value.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/nearest.h"
#include "jobspec/scalar.h"

namespace thalweg::jobspec {
namespace {

[[noreturn]] void wrong_kind(const Value& value, const char* expected) {
  throw std::invalid_argument("found " + describe(value) + ", expected " + expected);
}

const Value* member(const Map& map, std::string_view key) {
  for (const auto& [name, value] : map) {
    if (name == key) return &value;
  }
  return nullptr;
}

}  // namespace

const Value& null_value() {
  static const Value null;
  return null;
}

Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

bool Value::as_bool() const {
  if (const bool* b = std::get_if<bool>(&data_)) return *b;
  wrong_kind(*this, "true or false");
}

bool is_int64(double d) {
  constexpr double two_to_63 = 9223372036854775808.0;
  return std::trunc(d) == d && d >= -two_to_63 && d < two_to_63;
}

std::int64_t Value::as_int() const {
  if (const auto* i = std::get_if<std::int64_t>(&data_)) return *i;
  if (const auto* d = std::get_if<double>(&data_)) {
    if (is_int64(*d)) return static_cast<std::int64_t>(*d);
  }
  wrong_kind(*this, "a whole number");
}

double Value::as_double() const {
  if (const auto* d = std::get_if<double>(&data_)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*i);
  wrong_kind(*this, "a number");
}

const std::string& Value::as_string() const {
  if (const auto* s = std::get_if<std::string>(&data_)) return *s;
  wrong_kind(*this, "text");
}

const List& Value::as_list() const {
  if (const auto* l = std::get_if<List>(&data_)) return *l;
  wrong_kind(*this, "a list");
}

const Map& Value::as_map() const {
  if (const auto* m = std::get_if<Map>(&data_)) return *m;
  wrong_kind(*this, "a map");
}

List& Value::as_list() {
  return const_cast<List&>(std::as_const(*this).as_list());
}

Map& Value::as_map() {
  return const_cast<Map&>(std::as_const(*this).as_map());
}

const Value* Value::find(std::string_view path) const {
  const Value* at = this;
  while (true) {
    const Map* map = std::get_if<Map>(&at->data_);
    if (!map) return nullptr;
    if (const Value* whole = member(*map, path)) return whole;
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return nullptr;
    at = member(*map, path.substr(0, dot));
    if (!at) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

void Value::set(std::string_view path, Value value) {
  Value* at = this;
  while (true) {
    if (at->is_null()) at->data_ = Map{};
    if (!at->is_map()) {
      throw std::invalid_argument("cannot set '" + std::string(path) + "' inside " + describe(*at));
    }
    Map& map = at->as_map();
    if (const Value* whole = member(map, path)) {
      *const_cast<Value*>(whole) = std::move(value);
      return;
    }
    const std::size_t dot = path.find('.');
    const std::string_view first = path.substr(0, dot);
    if (dot == std::string_view::npos) {
      map.emplace_back(std::string(first), std::move(value));
      return;
    }
    const Value* next = member(map, first);
    if (!next) next = &map.emplace_back(std::string(first), Value(Map{})).second;
    at = const_cast<Value*>(next);
    path.remove_prefix(dot + 1);
  }
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  return thalweg::nearest(word, candidates);
}

}  // namespace thalweg::jobspec
