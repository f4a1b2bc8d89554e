// The usual reasons for "this is not YAML".
#pragma once

#include <string_view>

namespace thalweg::jobspec {

class Diagnostics;

/// Complains about a comment with //, a '-' or '=' that is no YAML, a text that wants quotes or a
/// bracket that is not closed, where one stands in `line` (from 1; where the parser gave up) or one
/// of the two lines before it. False where none does.
bool complain_about_slip(std::string_view text, int line, Diagnostics& diagnostics);

}  // namespace thalweg::jobspec
