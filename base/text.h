// Text for people: that of other programs made fit for JSON and a line of a table; counts in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

/// Bytes of the UTF-8 character that begins at `at`, which is inside of the text; 0 where none
/// does.
std::size_t utf8_length(std::string_view text, std::size_t at);

/// The same text, with U+FFFD for each byte that is not part of a character in UTF-8.
std::string valid_utf8(std::string_view text);

/// How it begins: at most so many bytes, and no half character at the end.
std::string_view cut_utf8(std::string_view text, std::size_t max_bytes);

/// Without the escape sequences by which terminals show colours and links (ECMA-48).
std::string without_escapes(std::string_view text);

/// ASCII letters as small ones.
std::string lower_case(std::string_view text);

/// "a,,b" as "a", "" and "b"; a comma at the end begins nothing.
std::vector<std::string> split_at_commas(std::string_view text);

/// A program's help with no line longer than so many bytes: too long ones are broken at blanks, and
/// what is over begins the next line of the paragraph. Lines of a table (a word or more, two blanks
/// or more, text) go on below their text, others at their own indentation; words are never broken.
std::string in_columns(const std::string& text, std::size_t columns = 80);

/// "2,836".
std::string grouped(std::int64_t n);

/// "1 trial", "2000 trials".
std::string count_of(std::int64_t n, std::string_view noun);

}  // namespace thalweg
