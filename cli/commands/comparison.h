// The comparison table: `compare` and the end of `run`.
#pragma once

#include <functional>

#include "cli/commands/common.h"

namespace thalweg::cli {

/// Of the rows for which `shown` holds; nothing: all.
Table comparison_table(const Json& comparison,
                       const std::function<bool(const Json&)>& shown = nullptr);
/// The table, then the notes that explain its numbers.
void print_comparison(Context& context, const Json& comparison);
/// What to look at next, beginning with the best trial.
void print_comparison_next(Context& context, const Json& comparison);

}  // namespace thalweg::cli
