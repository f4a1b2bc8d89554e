// The number of a sweep, a trial or an attempt.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg::jobspec {

/// 12, 12.3 or 12.3.1: sweep, trial (from 1), attempt (from 1); a missing part is 0.
struct Id {
  std::int64_t sweep = 0;
  std::int64_t trial = 0;
  std::int64_t attempt = 0;

  std::string to_string() const;
  /// Nothing where the text is not an id.
  static std::optional<Id> parse(std::string_view text);
  friend auto operator<=>(const Id&, const Id&) = default;
};

}  // namespace thalweg::jobspec
