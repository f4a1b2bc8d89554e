// std::regex knows no named groups: their names are taken out first, and counted. It is run in its
// polynomial mode, since the usual one needs exponential time (and stack) for some patterns, and a
// user's pattern must not hang what supervises the program.
#include "jobspec/metric_pattern.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace thalweg::jobspec {
namespace {

constexpr std::size_t max_line = 4096;

std::optional<double> number(std::string text) {
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
  try {
    regex_ = std::regex(
        plain, std::regex::ECMAScript | std::regex::optimize | std::regex_constants::__polynomial);
  } catch (const std::regex_error& error) {
    throw std::invalid_argument(std::string("no regular expression that could be read: ") +
                                error.what());
  }
}

std::optional<MetricPattern::Found> MetricPattern::match(std::string_view line) const {
  line = line.substr(0, max_line);
  std::cmatch groups;
  if (!std::regex_search(line.data(), line.data() + line.size(), groups, regex_))
    return std::nullopt;
  Found found;
  std::string name;
  std::optional<double> value;
  for (std::size_t i = 0; i < names_.size() && i + 1 < groups.size(); ++i) {
    if (names_[i].empty() || !groups[i + 1].matched) continue;
    const std::string text = groups[i + 1].str();
    if (names_[i] == "name") {
      name = text;
      continue;
    }
    const std::optional<double> read = number(text);
    if (!read) continue;
    if (names_[i] == "value") {
      value = read;
    } else if (names_[i] != "step") {
      found.values.emplace_back(names_[i], *read);
    } else if (*read >= 0 && *read < 1e15) {
      found.step = static_cast<std::int64_t>(*read);
    }
  }
  if (!name.empty() && value) found.values.emplace_back(name, *value);
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
