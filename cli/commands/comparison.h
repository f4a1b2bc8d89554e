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
/// Rows that are printed where nobody says how many: more hide the notes below them.
inline constexpr std::size_t kMaxRows = 50;
/// The table of the best rows (max_rows 0: of all), then the notes that explain its numbers.
void print_comparison(Context& context, const ComparisonMessage& comparison,
                      std::size_t max_rows = kMaxRows);
/// The three commands that help most now: the missing seeds, the best of a parameter, the report.
void print_comparison_next(Context& context, const ComparisonMessage& comparison);

}  // namespace thalweg::cli
