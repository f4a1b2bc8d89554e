// Metrics in lines of a program's output, found by regular expressions with named groups.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg::jobspec {

/// ECMAScript's regular expressions, and groups with a name: (?<val/loss>[-+.0-9eE]+), also written
/// (?P<val/loss>...). A name may hold anything but '>'. Each group is a metric of its name, but for
/// `step`, and for the pair `name` and `value`, which are a metric's. Matching takes time
/// proportional to the line's length whatever the pattern; only the first 4096 bytes of a line are
/// looked at. Not to be used by two threads at once.
class MetricPattern {
 public:
  /// Throws std::invalid_argument with what is wrong.
  explicit MetricPattern(const std::string& text);

  struct Found {
    std::optional<std::int64_t> step;
    std::vector<std::pair<std::string, double>> values;
    std::vector<std::pair<std::string, std::string>> no_numbers;  ///< what groups hold instead
  };
  /// Nothing where the line does not match. Escape sequences of terminals are taken out first, and
  /// punctuation behind a number is passed over.
  std::optional<Found> match(std::string_view line) const;

  /// The names of the metrics that it can find; empty where `name` tells them.
  std::vector<std::string> metrics() const;

 private:
  std::regex regex_;
  std::string literal_;             ///< a part that every match holds; most lines lack it
  std::vector<std::string> names_;  ///< of group i + 1; empty: a group without a name
};

}  // namespace thalweg::jobspec
