#include "jobspec/scalar.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace thalweg::jobspec {
namespace {

bool digits_only(std::string_view text, int base) {
  const auto is_digit = [base](char c) {
    if (c >= '0' && c <= '9') return c - '0' < base;
    return base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<Value> integer(std::string_view digits, int base, bool negative) {
  // Read with its sign, so that the smallest integer fits.
  std::string text(negative ? "-" : "");
  text += digits;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Value(value);
}

/// digits [. digits] [e [sign] digits] or . digits [e ...]
bool looks_real(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  if (e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (!exponent.empty() && (exponent[0] == '+' || exponent[0] == '-')) exponent.remove_prefix(1);
    if (!digits_only(exponent, 10)) return false;
  }
  const std::size_t dot = mantissa.find('.');
  if (dot == std::string_view::npos) return digits_only(mantissa, 10);
  const std::string_view whole = mantissa.substr(0, dot), part = mantissa.substr(dot + 1);
  if (whole.empty()) return digits_only(part, 10);
  return digits_only(whole, 10) && (part.empty() || digits_only(part, 10));
}

std::optional<Value> real(std::string_view text, bool negative) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Value(negative ? -value : value);
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

std::optional<Value> read_scalar(std::string_view text) {
  if (text.empty() || one_of(text, {"~", "null", "Null", "NULL"})) return Value();
  if (one_of(text, {"true", "True", "TRUE"})) return Value(true);
  if (one_of(text, {"false", "False", "FALSE"})) return Value(false);
  if (one_of(text, {".nan", ".NaN", ".NAN"})) {
    return Value(std::numeric_limits<double>::quiet_NaN());
  }
  const bool sign = text[0] == '-' || text[0] == '+';
  const bool negative = text[0] == '-';
  const std::string_view rest = text.substr(sign ? 1 : 0);
  if (one_of(rest, {".inf", ".Inf", ".INF"})) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Value(negative ? -infinity : infinity);
  }
  if (digits_only(rest, 10)) return integer(rest, 10, negative);
  if (!sign && rest.substr(0, 2) == "0x" && digits_only(rest.substr(2), 16)) {
    return integer(rest.substr(2), 16, false);
  }
  if (!sign && rest.substr(0, 2) == "0o" && digits_only(rest.substr(2), 8)) {
    return integer(rest.substr(2), 8, false);
  }
  if (looks_real(rest)) return real(rest, negative);
  return Value(std::string(text));
}

}  // namespace thalweg::jobspec
