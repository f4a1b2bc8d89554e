// The command line of thalweg-train.
#pragma once

#include <string>
#include <vector>

namespace thalweg::engine {

/// Does what the arguments (without the program's name) say; returns the exit code. Errors go to
/// stderr.
int run_program(const std::vector<std::string>& arguments);

}  // namespace thalweg::engine
