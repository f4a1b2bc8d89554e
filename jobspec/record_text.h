// Configurations as the record keeps them: JSON, which has no numbers for infinity and NaN.
#pragma once

#include <string>

#include "jobspec/value.h"

namespace thalweg::jobspec {

/// One line of JSON; numbers that are not finite are the texts that YAML writes without quotes:
/// ".inf", "-.inf", ".nan". As texts, those three are taken for the numbers.
std::string record_text(const Value& value);

/// The inverse. Throws InputError, with `name`, where it is no JSON.
Value read_record(const std::string& text, const std::string& name);

}  // namespace thalweg::jobspec
