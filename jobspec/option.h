// Options, made in one line.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "jobspec/schema.h"

namespace thalweg::jobspec {

/// As `max`: none.
inline constexpr double no_limit = std::numeric_limits<double>::infinity();

/// A number from `min` to `max`.
Option real_option(std::string name, double fallback, double min, double max, std::string doc);
/// With another default than a number: "auto" (which is then allowed), or null for none.
Option real_option(std::string name, Value fallback, double min, double max, std::string doc);
/// The same of whole numbers.
Option whole_option(std::string name, std::int64_t fallback, double min, double max,
                    std::string doc);
Option whole_option(std::string name, Value fallback, double min, double max, std::string doc);
Option flag_option(std::string name, bool fallback, std::string doc);
/// One of the texts; the first is the default.
Option choice_option(std::string name, std::vector<std::string> choices, std::string doc);
/// Any text; without a default where `fallback` is null.
Option text_option(std::string name, Value fallback, std::string doc);
/// A text that names a file or folder (see Option::path); `fallback` itself is none.
Option path_option(std::string name, Value fallback, std::string doc);
Option list_option(std::string name, Value fallback, std::string doc);
/// The option as one that has to be given.
Option needed(Option option);
/// The number as one above its `min`, which itself is refused.
Option above_min(Option option);

}  // namespace thalweg::jobspec
