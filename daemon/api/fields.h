// Structs as JSON objects. A struct names its fields once, in `each_field`; the same list writes
// and reads it:
//
//   struct Counted {
//     std::string name;
//     std::optional<double> mean;
//     static void each_field(auto& self, auto&& field) {
//       field("name", self.name);
//       field("mean", self.mean, Field::null);
//     }
//   };
//
// Values: text, numbers (NaN and infinities, which JSON lacks, as "nan", "inf", "-inf"), bools,
// enums by their words (jobspec/enum_names.h), such structs, std::optional, std::vector and
// std::map of them, JSON as it is.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "jobspec/enum_names.h"

namespace thalweg::daemon::api {

/// Of a field: what becomes of it where it is not there.
enum class Field {
  usual,  ///< strict reading refuses the object; an empty std::optional is not written
  may_miss,
  null  ///< of a std::optional: written as null
};

/// How an object is read.
enum class Reading {
  strict,   ///< throws where a field is missing or of another type
  tolerant  ///< then it keeps its default: what another version answers is shown as far as possible
};

/// Specialized for types that look otherwise: `json write(const T&)` and `void read(const json&,
/// T&)`, which throws std::invalid_argument or a json::exception.
template <class T>
struct JsonOf;

template <class T>
nlohmann::json to_json(const T& value);
template <class T>
void read_json(const nlohmann::json& from, T& value, Reading reading);

template <class T>
T from_json(const nlohmann::json& from, Reading reading) {
  T value{};
  read_json(from, value, reading);
  return value;
}

namespace fields {

template <class T>
concept Optional = requires(T t) {
  t.has_value();
};
template <class T>
concept List = requires(T t) {
  t.emplace_back();
}
&&!std::is_same_v<T, std::string> && !std::is_same_v<T, nlohmann::json>;
template <class T>
concept Dictionary = requires(T t) {
  typename T::mapped_type;
};
template <class T>
concept Special = requires(const T& t) {
  JsonOf<T>::write(t);
};
struct Any {
  template <class... Args>
  void operator()(Args&&...) const {}
};
template <class T>
concept Struct = requires(T t) {
  T::each_field(t, Any{});
};

inline nlohmann::json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

inline double number_from(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::invalid_argument("not a number");
}

template <class T>
void read_field(const nlohmann::json& object, const char* name, T& value, Field field,
                Reading reading) {
  const auto found = object.find(name);
  const bool there = found != object.end() && !found->is_null();
  if (!there) {
    if (reading == Reading::strict && field == Field::usual && !Optional<T>)
      throw std::invalid_argument("\"" + std::string(name) + "\" is missing");
    return;
  }
  T read{};
  try {
    read_json(*found, read, reading);
  } catch (const nlohmann::json::exception&) {
    if (reading == Reading::tolerant) return;
    throw std::invalid_argument("\"" + std::string(name) + "\" is of another type");
  } catch (const std::invalid_argument& error) {
    if (reading == Reading::tolerant) return;
    throw std::invalid_argument("\"" + std::string(name) + "\": " + error.what());
  }
  value = std::move(read);
}

}  // namespace fields

template <class T>
nlohmann::json to_json(const T& value) {
  if constexpr (fields::Special<T>) {
    return JsonOf<T>::write(value);
  } else if constexpr (fields::Struct<T>) {
    nlohmann::json object = nlohmann::json::object();
    T::each_field(value, [&]<class V>(const char* name, const V& v, Field field = Field::usual) {
      if constexpr (fields::Optional<V>) {
        if (!v && field != Field::null) return;
      }
      object[name] = to_json(v);
    });
    return object;
  } else if constexpr (fields::Optional<T>) {
    return value ? to_json(*value) : nlohmann::json();
  } else if constexpr (std::is_enum_v<T>) {
    return jobspec::name_of(value);
  } else if constexpr (fields::Dictionary<T>) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [key, v] : value)
      object[key] = to_json(v);
    return object;
  } else if constexpr (fields::List<T>) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& v : value)
      list.push_back(to_json(v));
    return list;
  } else if constexpr (std::is_floating_point_v<T>) {
    return fields::number(value);
  } else {
    return value;
  }
}

template <class T>
void read_json(const nlohmann::json& from, T& value, Reading reading) {
  if constexpr (fields::Special<T>) {
    JsonOf<T>::read(from, value);
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    value = from;
  } else if constexpr (fields::Struct<T>) {
    if (!from.is_object() && reading == Reading::tolerant) return;
    if (!from.is_object()) throw std::invalid_argument("expected an object");
    T::each_field(value, [&]<class V>(const char* name, V& v, Field field = Field::usual) {
      fields::read_field(from, name, v, field, reading);
    });
  } else if constexpr (fields::Optional<T>) {
    if (!from.is_null()) read_json(from, value.emplace(), reading);
  } else if constexpr (std::is_enum_v<T>) {
    value = jobspec::from_name<T>(from.get<std::string>());
  } else if constexpr (fields::Dictionary<T>) {
    if (!from.is_object()) throw std::invalid_argument("expected an object");
    for (const auto& [key, v] : from.items())
      read_json(v, value[key], reading);
  } else if constexpr (fields::List<T>) {
    if (!from.is_array()) throw std::invalid_argument("expected a list");
    for (const auto& v : from)
      read_json(v, value.emplace_back(), reading);
  } else if constexpr (std::is_floating_point_v<T>) {
    value = fields::number_from(from);
  } else {
    from.get_to(value);
  }
}

}  // namespace thalweg::daemon::api
