#include "base/text.h"

#include <algorithm>
#include <sstream>

namespace thalweg {

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  // Longer than needed, a half of a UTF-16 pair, beyond U+10FFFF.
  const unsigned char second = byte(at + 1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : size;
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = utf8_length(text, i);
    valid += size == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(i, size);
    i += size == 0 ? 1 : size;
  }
  return valid;
}

std::string_view cut_utf8(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t size = max_bytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
    --size;
  return text.substr(0, size);
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  const auto ends = [](char c) { return c >= 0x40 && c <= 0x7e; };
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\x1b') {
      plain += text[i++];
      continue;
    }
    if (++i == text.size()) break;
    const char kind = text[i++];
    if (kind == '[') {  // CSI: up to its final byte
      while (i < text.size() && !ends(text[i]))
        ++i;
      i += i < text.size() ? 1 : 0;
    } else if (kind == ']') {  // OSC: up to BEL or ST
      while (i < text.size() && text[i] != '\x07' && text[i] != '\x1b')
        ++i;
      if (i < text.size()) i += text[i] == '\x07' ? 1 : 2;
    }
  }
  return plain;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

namespace {

/// Where the text of a line begins: behind the left column of a table, else behind the blanks.
std::size_t text_begin(const std::string& line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", first);
  const std::size_t text = gap == line.npos ? gap : line.find_first_not_of(' ', gap);
  constexpr std::size_t widest = 40;
  return text == line.npos || text > widest ? first : text;
}

}  // namespace

std::string in_columns(const std::string& text, std::size_t columns) {
  std::string result, over;  // over: without a line yet
  std::size_t indent = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) || !over.empty();) {
    const bool more = static_cast<bool>(lines);
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    const bool goes_on =
        more && !over.empty() && !line.empty() && first == indent && text_begin(line) == first;
    if (!over.empty()) {
      if (goes_on) {
        line = std::string(indent, ' ') + over + " " + line.substr(first);
      } else {
        result += in_columns(std::string(indent, ' ') + over + "\n", columns);
      }
      over.clear();
      if (!more) break;
    }
    indent = text_begin(line);
    const std::size_t blank = line.size() <= columns ? line.npos : line.rfind(' ', columns);
    if (blank != line.npos && blank > indent) {
      over = line.substr(blank + 1);
      line.resize(blank);
    }
    result += line + "\n";
  }
  return result;
}

std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  const std::ptrdiff_t first = n < 0 ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), 1, ',');
  return text;
}

std::string count_of(std::int64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace thalweg
