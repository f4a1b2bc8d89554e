#include "cli/output/text.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
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

namespace {

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

/// Marks, embeddings, overrides and isolates: with them a name reads otherwise than it is.
bool turns_direction(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string shown(char32_t code) {
  return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
}

/// Each character as `replace` has it; as it is where that gives nothing.
template <class F>
std::string replaced(std::string_view text, F replace) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode(text);
    const std::string_view character = text.substr(0, static_cast<std::size_t>(next.bytes));
    text.remove_prefix(character.size());
    const std::optional<std::string> other =
        next.valid ? replace(next.code, text) : std::optional<std::string>("\uFFFD");
    if (other)
      clean += *other;
    else
      clean += character;
  }
  return clean;
}

}  // namespace

std::string printable(std::string_view text) {
  return replaced(text, [](char32_t code, std::string_view) -> std::optional<std::string> {
    if (turns_direction(code)) return shown(code);
    if (is_control(code)) return " ";
    return {};
  });
}

std::string with_controls_shown(std::string_view text) {
  return replaced(text, [](char32_t code, std::string_view rest) -> std::optional<std::string> {
    // Alone it takes the cursor back to the line's begin.
    const bool line_end = code == '\n' || (code == '\r' && rest.starts_with('\n'));
    if (line_end || code == '\t') return {};
    if (is_control(code) || turns_direction(code)) return shown(code);
    return {};
  });
}

std::string with_directions_shown(std::string_view text) {
  return replaced(text, [](char32_t code, std::string_view) -> std::optional<std::string> {
    if (turns_direction(code)) return shown(code);
    return {};
  });
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
