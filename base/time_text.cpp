// Read by hand: strptime() stops where it understands no more, and what it did not understand was
// the UTC offset.
#include "base/time_text.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

namespace thalweg {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  bool has_offset() const { return has_offset_; }
  std::optional<double> read() {
    blanks();
    const auto days = date();
    if (!days) return {};
    const bool t = take('T') || take('t');
    const bool more = t || (blanks() && !rest_.empty());
    double seconds = 0;
    if (more) {
      const auto of_day = time_of_day();
      const auto offset = of_day ? utc_offset() : std::nullopt;
      if (!offset) return {};
      seconds = *of_day - *offset;
    }
    blanks();
    const double time = static_cast<double>(*days) * 86400 + seconds;
    return rest_.empty() && time >= 0 ? std::optional(time) : std::nullopt;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool blanks() {
    bool any = false;
    while (take(' ') || take('\t'))
      any = true;
    return any;
  }
  /// Of exactly so many digits, at most `max`.
  std::optional<int> number(std::size_t digits, int max) {
    if (rest_.size() < digits) return {};
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(rest_[i])) return {};
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value <= max ? std::optional(value) : std::nullopt;
  }

  std::optional<std::int64_t> date() {
    const auto year = number(4, 9999);
    if (!year || !take('-')) return {};
    const auto month = number(2, 12);
    if (!month || !take('-')) return {};
    const auto day = number(2, 31);
    if (!day) return {};
    const std::chrono::year_month_day whole{std::chrono::year(*year),
                                            std::chrono::month(static_cast<unsigned>(*month)),
                                            std::chrono::day(static_cast<unsigned>(*day))};
    if (!whole.ok()) return {};
    return std::chrono::sys_days(whole).time_since_epoch().count();
  }

  std::optional<double> time_of_day() {
    const auto hour = number(2, 23);
    if (!hour || !take(':')) return {};
    const auto minute = number(2, 59);
    if (!minute) return {};
    double second = 0;
    if (take(':')) {
      const auto whole = number(2, 60);  // a leap second
      if (!whole) return {};
      const auto part = fraction();
      if (!part) return {};
      second = *whole + *part;
    }
    return *hour * 3600.0 + *minute * 60.0 + second;
  }

  std::optional<double> fraction() {
    if (!take('.') && !take(',')) return 0;
    std::string digits = "0.";
    for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1))
      digits += rest_.front();
    return digits.size() > 2 ? std::optional(std::strtod(digits.c_str(), nullptr)) : std::nullopt;
  }

  std::optional<double> utc_offset() {
    blanks();
    has_offset_ = true;
    if (take('Z') || take('z') || take_word("UTC") || take_word("GMT")) return 0;
    const bool east = take('+');
    if (!east && !take('-')) {
      has_offset_ = false;
      return 0;
    }
    const auto hours = number(2, 23);
    if (!hours) return {};
    int minutes = 0;
    if (take(':') || (!rest_.empty() && is_digit(rest_.front()))) {
      const auto given = number(2, 59);
      if (!given) return {};
      minutes = *given;
    }
    const double offset = *hours * 3600.0 + minutes * 60.0;
    return east ? offset : -offset;
  }

  std::string_view rest_;
  bool has_offset_ = false;
};

}  // namespace

std::optional<double> read_time(std::string_view text) {
  return TimeReader(text).read();
}

std::optional<double> read_local_time(std::string_view text) {
  TimeReader reader(text);
  const auto time = reader.read();
  if (!time || reader.has_offset()) return time;
  const double whole = std::floor(*time);
  const auto seconds = static_cast<std::time_t>(whole);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  parts.tm_isdst = -1;  // as it is at that time
  return static_cast<double>(std::mktime(&parts)) + (*time - whole);
}

}  // namespace thalweg
