// What the output can show: size, colours, cursor movement.
#pragma once

#include <string>
#include <string_view>

namespace thalweg::cli {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

struct Terminal {
  int file = 1;              ///< the descriptor looked at
  bool is_terminal = false;  ///< a person looks at it
  bool moves = false;        ///< is_terminal and the cursor can be moved (TERM is not "dumb")
  bool utf8 = false;         ///< is_terminal, and the locale's characters are UTF-8
  bool colour = false;       ///< moves, and NO_COLOR is empty or not set (no-color.org)

  static Terminal of(int file);
  /// Asked anew each time: windows change. 80×24 where nobody knows.
  TerminalSize size() const;
};

enum class Tint { none, bold, dim, red, green, yellow, blue, cyan };

/// Wraps text in colour escapes, or leaves it alone.
class Palette {
 public:
  explicit Palette(bool colour = false) : colour_(colour) {}
  std::string operator()(Tint tint, std::string_view text) const;
  bool colour() const { return colour_; }

 private:
  bool colour_;
};

/// The colour of a sweep's, trial's or attempt's state, wherever it is printed.
Tint tint_of_state(std::string_view state);

/// Writes everything, in one call where the system allows (a frame must not be seen half drawn).
void write_all(int file, std::string_view text);

}  // namespace thalweg::cli
