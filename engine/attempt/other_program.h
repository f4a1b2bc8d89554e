// Trials of the engine are thalweg-train's, those of the user's own programs thalweg-attempt's.
// Each hands over what is the other's, so that whoever starts one need not know.
#pragma once

#include <string>

namespace thalweg::engine {

/// Becomes `program` (beside this one, or in PATH) with `file` as its argument. Throws
/// std::runtime_error where it is not there, std::system_error where it cannot be started.
[[noreturn]] void become(const std::string& program, const std::string& file);

}  // namespace thalweg::engine
