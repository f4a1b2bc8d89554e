// The words that stand for the values of an enum in files, in the record and in the API: one table
// per enum, read in both directions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace thalweg::jobspec {

enum class Goal;

/// Specialized per enum: `what`, for messages, and `names` in the order of the values, which count
/// from 0.
template <class Enum>
struct EnumNames;

template <class Enum>
constexpr std::string_view name_of(Enum value) {
  return EnumNames<Enum>::names[static_cast<std::size_t>(value)];
}

/// Nothing where it is none of the words.
template <class Enum>
constexpr std::optional<Enum> find_name(std::string_view text) {
  const auto& names = EnumNames<Enum>::names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

/// Throws std::invalid_argument where it is none of the words.
template <class Enum>
Enum from_name(std::string_view text) {
  if (const auto value = find_name<Enum>(text)) return *value;
  throw std::invalid_argument("'" + std::string(text) + "' is no " +
                              std::string(EnumNames<Enum>::what));
}

template <>
struct EnumNames<Goal> {
  static constexpr std::string_view what = "goal";
  static constexpr std::array<std::string_view, 2> names = {"minimize", "maximize"};
};

}  // namespace thalweg::jobspec
