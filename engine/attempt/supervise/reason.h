// Which line of what a program wrote says why it failed.
#pragma once

#include <string>
#include <string_view>

namespace thalweg::engine {

/// The last line that names an exception with its message; else the last that speaks of an error;
/// else, but for `certain`, the last with any words, if it is not a warning. Without escapes and
/// control characters, in valid UTF-8, at most 300 bytes. `text` may begin inside of a line.
std::string reason_in(std::string_view text, bool certain = false);

}  // namespace thalweg::engine
