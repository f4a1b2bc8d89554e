// The command line of thalweg-train.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thalweg::engine {

/// Does what the arguments (without the program's name) say; returns the exit code. Errors go to
/// stderr.
int run_program(const std::vector<std::string>& arguments);

/// What `--check` prints about a trial. Throws as set-up does.
std::string check_trial(const std::filesystem::path& trial_file);

}  // namespace thalweg::engine
