// RE2 takes time proportional to the line, so no pattern of a user's can hang what supervises the
// program. Its group names are words: names of metrics are taken out first, and counted.
#include "jobspec/metric_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/text.h"

namespace thalweg::jobspec {
namespace {

constexpr std::size_t max_line = 4096;
constexpr double max_step = 1e15;

std::optional<double> number(std::string text) {
  const std::size_t end_of_word = text.find_last_not_of(",;:)]}");
  text.erase(end_of_word == text.npos ? 0 : end_of_word + 1);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const char* begin = text.data();
  const char* const end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  double value = 0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (rest != end || begin == end) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    return text.find("e-") != text.npos ? 0 : std::numeric_limits<double>::infinity();
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// RE2 says "invalid perl operator: (?=", which tells nobody what to write instead.
std::string why(const std::string& pattern, const re2::RE2& regex) {
  for (const std::string_view part : {"(?=", "(?!", "(?<=", "(?<!"})
    if (regex.error_arg() == part ||
        (regex.error_code() == re2::RE2::ErrorBadPerlOp && pattern.find(part) != pattern.npos))
      return "lookahead and lookbehind, here " + std::string(part) +
             ", are not supported: match the text around the group as well";
  if (regex.error_code() == re2::RE2::ErrorBadEscape && regex.error_arg().size() == 2 &&
      regex.error_arg()[1] >= '1' && regex.error_arg()[1] <= '9')
    return "backreferences, here " + regex.error_arg() + ", are not supported";
  return "no regular expression that could be read: " + regex.error();
}

}  // namespace

MetricPattern::MetricPattern(const std::string& text) {
  std::string plain;
  bool in_class = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    plain += c;
    if (c == '\\' && i + 1 < text.size()) {
      plain += text[++i];
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      const std::size_t p = text.compare(i + 1, 2, "?P") == 0 ? 1 : 0;
      const bool named = text.compare(i + 1, 1, "?") == 0 && i + 2 + p < text.size() &&
                         text[i + 2 + p] == '<' && text.compare(i + 2, 2, "<=") != 0 &&
                         text.compare(i + 2, 2, "<!") != 0;
      if (named) {
        const std::size_t begin = i + 3 + p, end = text.find('>', begin);
        if (end == text.npos || end == begin)
          throw std::invalid_argument("a group's name has no end, expected (?<NAME>...)");
        names_.push_back(text.substr(begin, end - begin));
        i = end;
      } else if (text.compare(i + 1, 1, "?") != 0) {
        names_.emplace_back();
      }
    }
  }
  bool any = false, name = false, value = false;
  for (const std::string& group : names_) {
    any = any || (!group.empty() && group != "step");
    name = name || group == "name";
    value = value || group == "value";
  }
  if (!any)
    throw std::invalid_argument(
        "it has no group that is a metric, expected one as (?<val/loss>[-+.0-9eE]+)");
  if (name != value)
    throw std::invalid_argument("found one of the groups name and value, expected both");
  re2::RE2::Options options;
  options.set_log_errors(false);
  regex_ = std::make_unique<const re2::RE2>(plain, options);
  if (!regex_->ok()) throw std::invalid_argument(why(plain, *regex_));
}

MetricPattern::~MetricPattern() = default;
MetricPattern::MetricPattern(MetricPattern&&) noexcept = default;
MetricPattern& MetricPattern::operator=(MetricPattern&&) noexcept = default;

std::optional<MetricPattern::Found> MetricPattern::match(std::string_view line) const {
  line = line.substr(0, max_line);
  std::string plain;
  if (line.find('\x1b') != line.npos) line = plain = without_escapes(line);
  // In text that is no UTF-8, "." would not match the bytes that are wrong.
  const auto beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  if (std::any_of(line.begin(), line.end(), beyond_ascii)) line = plain = valid_utf8(line);
  std::vector<re2::StringPiece> groups(names_.size() + 1);
  if (!regex_->Match({line.data(), line.size()}, 0, line.size(), re2::RE2::UNANCHORED,
                     groups.data(), static_cast<int>(groups.size())))
    return std::nullopt;
  Found found;
  std::string name, pair_text;
  std::optional<double> value;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].empty() || groups[i + 1].data() == nullptr) continue;
    const std::string text(groups[i + 1].data(), groups[i + 1].size());
    if (names_[i] == "name") {
      name = text;
      continue;
    }
    const std::optional<double> read = number(text);
    const bool is_step = names_[i] == "step";
    if (names_[i] == "value") {
      pair_text = text;
      value = read;
    } else if (!read || (is_step && !(*read >= 0 && *read <= max_step))) {
      found.no_numbers.emplace_back(names_[i], text);
    } else if (is_step) {
      found.step = static_cast<std::int64_t>(*read);
    } else {
      found.values.emplace_back(names_[i], *read);
    }
  }
  if (!name.empty() && value) found.values.emplace_back(name, *value);
  if (!name.empty() && !value) found.no_numbers.emplace_back(name, pair_text);
  return found;
}

std::vector<std::string> MetricPattern::metrics() const {
  std::vector<std::string> metrics;
  for (const std::string& name : names_)
    if (!name.empty() && name != "step" && name != "name" && name != "value")
      metrics.push_back(name);
  return metrics;
}

}  // namespace thalweg::jobspec
