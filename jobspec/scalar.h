// Plain YAML scalars: the text of a number, truth value or word becomes a Value.
#pragma once

#include <optional>
#include <string_view>

#include "jobspec/value.h"

namespace thalweg::jobspec {

/// The YAML 1.2 core schema. Nothing where the text is a number that int64 or double cannot hold.
std::optional<Value> read_scalar(std::string_view text);

/// Whether `d` is whole and an int64 holds it.
bool is_int64(double d);

}  // namespace thalweg::jobspec
