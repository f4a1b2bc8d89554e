// thalweg-simulate: the trials of a file, one after another.
#pragma once

#include <string>
#include <vector>

namespace thalweg::engine::simulate {

/// `arguments` without the program's name. Returns the exit code.
int run_program(const std::vector<std::string>& arguments);

}  // namespace thalweg::engine::simulate
