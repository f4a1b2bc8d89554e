// std::regex knows no named groups: their names are taken out first, and counted. It is run in its
// polynomial mode, since the usual one needs exponential time (and stack) for some patterns, and a
// user's pattern must not hang what supervises the program.
#include "jobspec/metric_pattern.h"

#include <algorithm>
#include <cctype>
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

/// Behind what begins at `at`, a class or a group.
std::size_t end_of_part(const std::string& pattern, std::size_t at) {
  int depth = 0;
  bool in_class = false;
  for (; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(' || c == ')') {
      depth += c == '(' ? 1 : -1;
    }
    if (!in_class && depth == 0) return at + 1;
  }
  return at;
}

/// The longest text that every match of the pattern holds, outside of groups; empty where none is
/// seen. Looking for it is a hundred times quicker than matching.
std::string required_literal(const std::string& pattern) {
  std::string best, run;
  const auto end_run = [&] {
    if (run.size() > best.size()) best = run;
    run.clear();
  };
  for (std::size_t i = 0; i < pattern.size();) {
    const char c = pattern[i];
    if (c == '|') return "";
    if (c == '(' || c == '[') {
      end_run();
      i = end_of_part(pattern, i);
    } else if (c == '*' || c == '?' || c == '{') {  // what it repeats may be missing
      if (!run.empty()) run.pop_back();
      end_run();
      i = c == '{' ? std::min(pattern.find('}', i), pattern.size() - 1) + 1 : i + 1;
    } else if (std::string_view(".^$+)").find(c) != std::string_view::npos) {
      end_run();
      ++i;
    } else if (c == '\\' && i + 1 < pattern.size()) {
      const bool is_class = std::isalnum(static_cast<unsigned char>(pattern[i + 1])) != 0;
      if (is_class) end_run();
      if (!is_class) run += pattern[i + 1];
      i += 2;
      // \x41, \u00e4, \cA: what follows is a part of it.
      while (is_class && i < pattern.size() &&
             std::isalnum(static_cast<unsigned char>(pattern[i])) != 0)
        ++i;
    } else {
      run += c;
      ++i;
    }
  }
  end_run();
  return best;
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
  literal_ = required_literal(plain);
}

std::optional<MetricPattern::Found> MetricPattern::match(std::string_view line) const {
  line = line.substr(0, max_line);
  std::string plain;
  if (line.find('\x1b') != line.npos) line = plain = without_escapes(line);
  if (line.find(literal_) == line.npos) return std::nullopt;
  std::cmatch groups;
  if (!std::regex_search(line.data(), line.data() + line.size(), groups, regex_))
    return std::nullopt;
  Found found;
  std::string name, pair_text;
  std::optional<double> value;
  for (std::size_t i = 0; i < names_.size() && i + 1 < groups.size(); ++i) {
    if (names_[i].empty() || !groups[i + 1].matched) continue;
    const std::string text = groups[i + 1].str();
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
