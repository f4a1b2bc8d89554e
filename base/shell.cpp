#include "base/shell.h"

namespace thalweg {

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shell_word(const std::string& text) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  const bool as_it_is = !text.empty() && text.find_first_not_of(plain) == std::string::npos;
  return as_it_is ? text : shell_quoted(text);
}

}  // namespace thalweg
