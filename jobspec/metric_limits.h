// How many metrics a trial's attempt may report, and how they may be called: beyond that are
// programs that take a value for a name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace thalweg::jobspec {

inline constexpr std::size_t max_metrics = 1000, max_metric_name = 200;

/// 1 to 200 bytes, no control characters.
inline bool is_metric_name(std::string_view name) {
  return !name.empty() && name.size() <= max_metric_name &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
}

}  // namespace thalweg::jobspec
