// Reading the controller's JSON without surprises: a missing key, a null or another type is simply
// "nothing".
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::cli {

using Json = nlohmann::json;

/// Numbers, and the texts "nan", "inf", "-inf".
std::optional<double> number_of(const Json& value);
std::optional<double> number_at(const Json& object, const char* key);
long long count_at(const Json& object, const char* key);
std::string text_at(const Json& object, const char* key);
bool flag_at(const Json& object, const char* key);
std::vector<std::string> texts_at(const Json& object, const char* key);
/// The member, or null.
const Json& member(const Json& object, const char* key);
/// Of a list, or null.
const Json& element(const Json& list, std::size_t i);
/// The list, or an empty one.
const Json& list_at(const Json& object, const char* key);

/// As a person writes it: text bare, numbers in their shortest form, null as "", lists and maps as
/// JSON.
std::string plain_text(const Json& value);
/// Of a parameter, whose null is a value: "null".
std::string parameter_text(const Json& value);
/// The same where a person reads it: a text that looks like another value is in quotes.
std::string shown_parameter(const Json& value);
/// "lr" of "optimizer.lr".
std::string last_part(const std::string& dotted);
/// "adamw, lr=0.1, seed 2": texts alone, other values with the last part of their name; numbers
/// with four digits.
std::string parameter_label(const Json& parameters);

/// Indented by two spaces and ended by a newline; broken UTF-8 is replaced.
void print_json(std::ostream& out, const Json& value);
/// One line.
void print_json_line(std::ostream& out, const Json& value);

}  // namespace thalweg::cli
