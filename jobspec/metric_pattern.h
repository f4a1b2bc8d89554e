// Metrics in lines of a program's output, found by regular expressions with named groups.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace re2 {
class RE2;
}

namespace thalweg::jobspec {

/// RE2's regular expressions (github.com/google/re2/wiki/Syntax: Perl's without lookaround and
/// backreferences) over bytes of UTF-8, and groups with a name: (?<val/loss>[-+.0-9eE]+), also
/// written (?P<val/loss>...). A name may hold anything but '>'. Each group is a metric of its name,
/// but for `step`, and for the pair `name` and `value`, which are a metric's. Matching takes time
/// proportional to the line's length whatever the pattern; only the first 4096 bytes of a line are
/// looked at. Thread-safe.
class MetricPattern {
 public:
  /// Throws std::invalid_argument with what is wrong.
  explicit MetricPattern(const std::string& text);
  ~MetricPattern();
  MetricPattern(MetricPattern&&) noexcept;
  MetricPattern& operator=(MetricPattern&&) noexcept;

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
  std::unique_ptr<const re2::RE2> regex_;
  std::vector<std::string> names_;  ///< of group i + 1; empty: a group without a name
};

}  // namespace thalweg::jobspec
