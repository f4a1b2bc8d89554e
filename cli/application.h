// The whole program behind main(): finds the command, runs it, and turns every error into text and
// an exit code.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace thalweg::cli {

/// `words` without the program's name.
int run_application(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace thalweg::cli
