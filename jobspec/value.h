// A configuration tree: what YAML says, with the place where it said it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/place.h"

namespace thalweg::jobspec {

/// Null, bool, integer, real, text, list or map. A plain value type; not thread-safe to mutate.
class Value {
 public:
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map>;

  Value() = default;
  // Out of line: keeps the variant's machinery out of every file that uses a Value.
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  Value(bool b) : data_(b) {}
  Value(int i) : data_(std::int64_t{i}) {}
  Value(std::int64_t i) : data_(i) {}
  Value(double d) : data_(d) {}
  Value(const char* s) : data_(std::string(s)) {}
  Value(std::string s) : data_(std::move(s)) {}
  Value(List l) : data_(std::move(l)) {}
  Value(Map m) : data_(std::move(m)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }
  bool is_map() const { return std::holds_alternative<Map>(data_); }

  /// Each throws std::invalid_argument naming the found and the expected kind.
  bool as_bool() const;
  std::int64_t as_int() const;  ///< also an integral real
  double as_double() const;     ///< also an integer
  const std::string& as_string() const;
  const List& as_list() const;
  const Map& as_map() const;
  List& as_list();
  Map& as_map();

  /// Dotted path ("optimizer.lr"); nullptr where any part is missing. At each level a key that is
  /// equal to the whole rest of the path, dots included, is found first.
  const Value* find(std::string_view path) const;
  /// Creates the maps on the way. Throws std::invalid_argument where a part is a scalar or a list.
  void set(std::string_view path, Value value);

  /// "null", "true", "12", "0.1" (shortest form that reads back the same), text as it is; lists and
  /// maps as one-line JSON.
  std::string to_text() const;
  /// One-line JSON; NaN and infinities as the strings "nan", "inf", "-inf".
  std::string to_json() const;
  /// As to_json with map keys sorted and integral reals written as integers: equal
  /// configurations give equal text, whatever the order and spelling in the file.
  std::string canonical() const;

  const Data& data() const { return data_; }
  Place place;  ///< not part of equality

  friend bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

 private:
  Data data_;
};

/// Reads YAML or JSON text (JSON is read by the same parser). `name` is used in messages.
/// Numbers as in YAML 1.2 core: "1e-4" is a number, "yes" is text. Throws InputError (diagnostic.h)
/// on syntax errors, tabs, duplicate keys, several documents, anchors that loop, control
/// characters, text that is not UTF-8, integers and reals out of range. Empty text is null.
Value read_yaml(std::string_view text, const std::string& name);

/// Block-style YAML that read_yaml reads back as an equal value (NaN and infinities included).
std::string to_yaml(const Value& value);

/// "text \"abc\"", "12", "a list", "nothing": what a message says it found.
std::string describe(const Value& value);

/// "did you mean": the candidate nearest to `word` (Damerau-Levenshtein), empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace thalweg::jobspec
