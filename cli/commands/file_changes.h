// Changes of a sweep file that were written on the command line.
#pragma once

#include <string>

#include "jobspec/value.h"

namespace thalweg::cli {

/// One YAML value of the command line; `option` is for messages. Throws CommandError (bad input).
jobspec::Value read_value(const std::string& text, const std::string& option);

/// "train.epochs=20"; without a value, the key is taken out. Throws CommandError (bad input).
void apply_change(jobspec::Value& file, const std::string& change);

}  // namespace thalweg::cli
