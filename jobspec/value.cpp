#include "jobspec/value.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace thalweg::jobspec {
namespace {

constexpr double two_to_63 = 9223372036854775808.0;

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

std::int64_t Value::as_int() const {
  if (const auto* i = std::get_if<std::int64_t>(&data_)) return *i;
  if (const auto* d = std::get_if<double>(&data_)) {
    if (std::trunc(*d) == *d && *d >= -two_to_63 && *d < two_to_63) {
      return static_cast<std::int64_t>(*d);
    }
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
  const std::size_t n = word.size();
  // A third of the word may be wrong; a word of one or two letters must be right but for one.
  std::size_t best = std::max<std::size_t>(1, (n + 1) / 3) + 1;
  std::string answer;
  std::vector<std::size_t> before, above, row;
  for (const std::string& candidate : candidates) {
    const std::size_t m = candidate.size();
    if ((m > n ? m - n : n - m) >= best || (n <= 1 && m <= 1)) continue;
    above.resize(m + 1);
    row.resize(m + 1);
    before.resize(m + 1);
    for (std::size_t j = 0; j <= m; ++j)
      above[j] = j;
    for (std::size_t i = 1; i <= n; ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= m; ++j) {
        const std::size_t change = word[i - 1] == candidate[j - 1] ? 0 : 1;
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
        const bool swapped =
            i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1];
        if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      }
      std::swap(before, above);
      std::swap(above, row);
    }
    if (above[m] < best) {
      best = above[m];
      answer = candidate;
    }
  }
  return answer;
}

}  // namespace thalweg::jobspec
