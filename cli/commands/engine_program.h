// Commands that a program of the engine carries out.
#pragma once

#include <string>
#include <vector>

namespace thalweg::cli {

/// This process becomes `program`, which stands beside thalweg or in PATH; does not return where
/// that works. Throws CommandError.
int become_engine(const std::string& program, std::vector<std::string> words);

}  // namespace thalweg::cli
