// Completion scripts for shells, made from the tables of options and collectives.
#pragma once

#include <string>

namespace thalweg::engine::perf {

/// `shell`: bash, zsh or fish. Throws UsageError.
std::string completion_script(const std::string& shell);

}  // namespace thalweg::engine::perf
