// What a rank waits for, as far as its wait needs to know it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace thalweg::engine::comm {

/// Which call: the group's context (see Group::split) and the number of the call in that group.
struct CallNumber {
  int context = 0;
  std::uint32_t call = 0;
  bool operator==(const CallNumber&) const = default;
};

/// Refers to what its maker owns.
struct WaitedCall {
  CallNumber number;
  std::span<const int> members;       ///< the ranks that take part, as the transport counts them
  std::function<std::string()> text;  ///< in words, equal on all ranks; asked for only in messages
};

}  // namespace thalweg::engine::comm
