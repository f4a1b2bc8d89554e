// Commands that a program of the engine carries out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thalweg::cli {

/// Beside thalweg or in PATH. Throws CommandError where it is not.
std::filesystem::path engine_program(const std::string& program);

/// This process becomes `program`, which stands beside thalweg or in PATH; does not return where
/// that works. Throws CommandError.
int become_engine(const std::string& program, std::vector<std::string> words);

}  // namespace thalweg::cli
