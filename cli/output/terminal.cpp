#include "cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace thalweg::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The first that is set decides, as in setlocale(3).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = environment(name);
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

int positive(const std::string& text, int otherwise) {
  const int value = std::atoi(text.c_str());
  return value > 0 ? value : otherwise;
}

}  // namespace

Terminal Terminal::of(int file) {
  Terminal terminal;
  terminal.file = file;
  terminal.is_terminal = ::isatty(file) == 1;
  const std::string term = environment("TERM");
  terminal.utf8 = terminal.is_terminal && locale_is_utf8();
  terminal.moves = terminal.is_terminal && !term.empty() && term != "dumb";
  terminal.colour = terminal.moves && environment("NO_COLOR").empty();
  return terminal;
}

TerminalSize Terminal::size() const {
  winsize window{};
  if (::ioctl(file, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0)
    return {window.ws_col, window.ws_row};
  return {positive(environment("COLUMNS"), 80), positive(environment("LINES"), 24)};
}

std::string Palette::operator()(Tint tint, std::string_view text) const {
  if (!colour_ || tint == Tint::none || text.empty()) return std::string(text);
  const char* code = "";
  switch (tint) {
    case Tint::none:
      break;
    case Tint::bold:
      code = "1";
      break;
    case Tint::dim:
      code = "2";
      break;
    case Tint::red:
      code = "31";
      break;
    case Tint::green:
      code = "32";
      break;
    case Tint::yellow:
      code = "33";
      break;
    case Tint::blue:
      code = "34";
      break;
    case Tint::cyan:
      code = "36";
      break;
  }
  return std::string("\x1b[") + code + "m" + std::string(text) + "\x1b[0m";
}

Tint tint_of_state(std::string_view state) {
  if (state == "finished") return Tint::green;
  if (state == "failed" || state == "lost") return Tint::red;
  if (state == "running" || state == "active") return Tint::cyan;
  if (state == "cancelled" || state == "stopped") return Tint::yellow;
  return Tint::dim;
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return;  // the terminal is gone; the command ends by itself
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace thalweg::cli
