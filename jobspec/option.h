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
Option float_option(std::string name, double default_value, double min, double max,
                    std::string doc);
/// With another default than a number: "auto" (which is then allowed), or null for none.
Option float_option(std::string name, Value default_value, double min, double max, std::string doc);
/// The same of whole numbers.
Option int_option(std::string name, std::int64_t default_value, double min, double max,
                  std::string doc);
Option int_option(std::string name, Value default_value, double min, double max, std::string doc);
Option flag_option(std::string name, bool default_value, std::string doc);
/// One of the texts; the first is the default.
Option choice_option(std::string name, std::vector<std::string> choices, std::string doc);
/// Any text; without a default where `default_value` is null.
Option string_option(std::string name, Value default_value, std::string doc);
/// A text that names a file or folder (see Option::path); `default_value` itself is none.
Option path_option(std::string name, Value default_value, std::string doc);
/// Values of a path option that name no path: its default and words.
std::vector<Value> no_paths_of(const Option& option);
Option list_option(std::string name, Value default_value, std::string doc);
/// The option as one that has to be given.
Option required(Option option);
/// The option as one that takes a list of its values, too.
Option or_list(Option option);
/// The number as one above its `min`, which itself is refused.
Option above_min(Option option);

}  // namespace thalweg::jobspec
