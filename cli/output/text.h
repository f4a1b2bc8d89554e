// UTF-8 text on a terminal: how many columns it takes, cutting and padding. Invalid bytes count as
// one column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"  // count_of

namespace thalweg::cli {

/// Columns taken: 0 for combining marks, 2 for wide East Asian characters and emoji, else 1.
/// Escape sequences are not known here: paint after measuring.
int display_width(std::string_view text);

/// At most `columns` wide; what is cut is marked by "…".
std::string truncate(std::string_view text, int columns);

std::string pad_right(std::string_view text, int columns);
std::string pad_left(std::string_view text, int columns);

/// Control characters, line ends and broken UTF-8 replaced, so that text from elsewhere cannot move
/// the cursor; what turns the direction of writing round is shown: "\u202e".
std::string printable(std::string_view text);
/// All of these shown, but for line ends and tabs: "\u001b".
std::string with_controls_shown(std::string_view text);
/// What turns it round alone.
std::string with_directions_shown(std::string_view text);

/// Words filled into lines of at most `columns` (a longer word stands alone); 0 = one line.
std::vector<std::string> wrap(std::string_view text, int columns);

/// "a, b, c".
std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace thalweg::cli
