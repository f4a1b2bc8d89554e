// The comparison table: `compare` and the end of `run`.
#pragma once

#include "cli/commands/common.h"

namespace thalweg::cli {

Table comparison_table(const Json& comparison);
/// The table, then the notes that explain its numbers.
void print_comparison(Context& context, const Json& comparison);
/// What to look at next, beginning with the best trial.
void print_comparison_next(Context& context, const Json& comparison);

}  // namespace thalweg::cli
