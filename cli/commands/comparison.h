// The comparison table: `compare` and the end of `run`.
#pragma once

#include <functional>

#include "cli/commands/common.h"
#include "daemon/api/comparison_messages.h"

namespace thalweg::cli {

using daemon::api::ComparisonMessage;
using daemon::api::ComparisonRowMessage;

/// Of the rows for which `shown` holds; nothing: all.
Table comparison_table(const ComparisonMessage& comparison,
                       const std::function<bool(const ComparisonRowMessage&)>& shown = nullptr);
/// The table, then the notes that explain its numbers.
void print_comparison(Context& context, const ComparisonMessage& comparison);
/// What to look at next, beginning with the best trial.
void print_comparison_next(Context& context, const ComparisonMessage& comparison);

}  // namespace thalweg::cli
