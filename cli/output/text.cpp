#include "cli/output/text.h"

#include <cstdint>
#include <sstream>

namespace thalweg::cli {
namespace {

struct Decoded {
  char32_t code = 0;
  int bytes = 1;
  bool valid = false;
};

Decoded decode(std::string_view text) {
  const auto byte = [&](int i) { return static_cast<unsigned char>(text[i]); };
  const auto length = static_cast<int>(utf8_length(text, 0));
  if (length == 0) return {};
  if (length == 1) return {byte(0), 1, true};
  char32_t code = byte(0) & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i)
    code = (code << 6) | (byte(i) & 0x3F);
  return {code, length, true};
}

/// Unicode 15 blocks, coarse: good enough for names of people's parameters.
int width_of(char32_t code) {
  if (code == 0x200B || code == 0x200D || code == 0xFEFF) return 0;
  if ((code >= 0x0300 && code <= 0x036F) || (code >= 0x1AB0 && code <= 0x1AFF) ||
      (code >= 0x1DC0 && code <= 0x1DFF) || (code >= 0x20D0 && code <= 0x20FF) ||
      (code >= 0xFE00 && code <= 0xFE0F) || (code >= 0xFE20 && code <= 0xFE2F))
    return 0;
  if ((code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
      (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
      (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
      (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1FAFF) ||
      (code >= 0x20000 && code <= 0x3FFFD))
    return 2;
  return 1;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Decoded next = decode(text);
    width += next.valid ? width_of(next.code) : 1;
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string truncate(std::string_view text, int columns) {
  if (columns <= 0) return {};
  if (display_width(text) <= columns) return std::string(text);
  std::string kept;
  int width = 0;
  while (!text.empty()) {
    const Decoded next = decode(text);
    const int w = next.valid ? width_of(next.code) : 1;
    if (width + w > columns - 1) break;  // one column is the ellipsis'
    width += w;
    kept.append(text.substr(0, next.bytes));
    text.remove_prefix(next.bytes);
  }
  while (!kept.empty() && kept.back() == ' ')
    kept.pop_back();
  return kept + "…";
}

std::string pad_right(std::string_view text, int columns) {
  const int missing = columns - display_width(text);
  return std::string(text) + std::string(missing > 0 ? missing : 0, ' ');
}

std::string pad_left(std::string_view text, int columns) {
  const int missing = columns - display_width(text);
  return std::string(missing > 0 ? missing : 0, ' ') + std::string(text);
}

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode(text);
    const bool control = next.code < 0x20 || (next.code >= 0x7F && next.code < 0xA0);
    if (!next.valid)
      clean += "\uFFFD";
    else if (control)
      clean += ' ';
    else
      clean.append(text.substr(0, next.bytes));
    text.remove_prefix(next.bytes);
  }
  return clean;
}

std::vector<std::string> wrap(std::string_view text, int columns) {
  std::vector<std::string> lines(1);
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const int used = display_width(lines.back());
    if (columns > 0 && used > 0 && used + 1 + display_width(word) > columns) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

}  // namespace thalweg::cli
