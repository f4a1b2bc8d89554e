#include "cli/output/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <string_view>

#include "base/text.h"

namespace thalweg::cli {

std::string format_number(std::optional<double> value) {
  if (!value) return unknown_mark;
  const double v = *value;
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  // Whole numbers up to a million (steps, epochs) are worth all their digits.
  if (v == std::trunc(v) && std::abs(v) < 1e6) return fmt::format("{:.0f}", v);
  if (std::abs(v) >= 1000 && std::abs(v) < 1e6) return fmt::format("{:.0f}", v);
  return fmt::format("{:.4g}", v);
}

std::string format_finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? format_number(value) : unknown_mark;
}

std::string format_interval(std::optional<double> median, std::optional<double> low,
                            std::optional<double> high) {
  const std::string middle = format_number(median);
  const bool known = median && low && high && std::isfinite(*low) && std::isfinite(*high);
  if (!known || *low == *high) return middle;
  return fmt::format("{} [{}, {}]", middle, format_number(low), format_number(high));
}

std::string format_values(const std::string& values) {
  constexpr std::string_view separator = ", ";
  std::string text;
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t end = std::min(values.find(separator, at), values.size());
    const std::string named = values.substr(at, end - at);
    const std::size_t equals = named.rfind('=') + 1;  // 0 where there is none
    const std::string part = named.substr(equals);
    double number = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool real = read.ec == std::errc{} && read.ptr == part.data() + part.size() &&
                      part.find_first_of(".e") != part.npos && std::isfinite(number);
    text += (at == 0 ? "" : separator);
    text += named.substr(0, equals);
    text += real ? format_number(number) : part;
    at = end + separator.size();
  }
  return text;
}

std::string format_rate(std::optional<double> per_second) {
  if (!per_second || !std::isfinite(*per_second)) return unknown_mark;
  const double v = *per_second;
  if (v < 10) return fmt::format("{:.2g}/s", v);
  if (v < 999.5) return fmt::format("{:.0f}/s", v);
  if (v < 99'950) return fmt::format("{:.1f}k/s", v / 1e3);
  if (v < 999'500) return fmt::format("{:.0f}k/s", v / 1e3);
  return fmt::format("{:.1f}M/s", v / 1e6);
}

std::string format_count(long long n) {
  return grouped(n);
}

std::string format_duration(std::optional<double> seconds) {
  if (!seconds || !std::isfinite(*seconds)) return unknown_mark;
  const double s = std::max(0.0, *seconds);
  if (s < 9.95 && s != std::trunc(s)) return fmt::format("{:.1f} s", s);
  const auto whole = static_cast<long long>(std::llround(s));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  if (whole < 86400)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole / 3600 % 24);
}

std::string format_age(double then, double now) {
  if (then <= 0) return "never";
  const auto s = static_cast<long long>(std::max(0.0, now - then));
  if (s < 60) return fmt::format("{} s ago", s);
  if (s < 3600) return fmt::format("{} min ago", s / 60);
  if (s < 2 * 86400) return fmt::format("{} h ago", s / 3600);
  return fmt::format("{} days ago", s / 86400);
}

std::string format_time(double unix_seconds) {
  if (unix_seconds <= 0) return unknown_mark;
  const auto t = static_cast<std::time_t>(unix_seconds);
  std::tm local{};
  localtime_r(&t, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string format_percent(double fraction) {
  if (!(fraction > 0)) return "0 %";
  if (fraction >= 1) return "100 %";
  return fmt::format("{} %", std::min(99, static_cast<int>(fraction * 100 + 0.5)));
}

std::string format_share(std::optional<double> share) {
  return share && std::isfinite(*share) ? fmt::format("{:.0f} %", 100 * *share) : unknown_mark;
}

std::string format_bytes(std::optional<double> bytes) {
  if (!bytes) return {};
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = *bytes;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  return fmt::format("{:.{}f} {}", value, unit > 0 && value < 9.95 ? 1 : 0, units[unit]);
}

}  // namespace thalweg::cli
