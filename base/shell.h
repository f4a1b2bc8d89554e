// Words of a POSIX shell's command line.
#pragma once

#include <string>

namespace thalweg {

/// In single quotes: one word to sh, whatever stands in it (no NUL).
std::string shell_quoted(const std::string& text);

/// Quoted only where sh would read `text` otherwise: for commands that people read.
std::string shell_word(const std::string& text);

}  // namespace thalweg
