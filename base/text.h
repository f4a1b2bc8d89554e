// Text that comes from other programs: made fit for JSON, for a line of a table, for a reader.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thalweg {

/// The same text, with U+FFFD for each byte that is not part of a character in UTF-8.
std::string valid_utf8(std::string_view text);

/// How it begins: at most so many bytes, and no half character at the end.
std::string_view cut_utf8(std::string_view text, std::size_t max_bytes);

/// Without the escape sequences by which terminals show colours and links (ECMA-48).
std::string without_escapes(std::string_view text);

}  // namespace thalweg
