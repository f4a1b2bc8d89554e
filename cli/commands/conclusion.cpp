// The verdicts of the table in words, for who reads nothing else. It claims no more than they do:
// where nothing was tested, or too few seeds are there, it says that instead.
#include "cli/commands/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/commands/common.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

using daemon::api::ComparisonMessage;
using daemon::api::ComparisonRowMessage;

/// The value of one parameter where it is a word, else name and value of each.
std::string label_of(const ComparisonRowMessage& row, const std::vector<std::string>& by) {
  std::vector<std::string> parts;
  for (const std::string& name : by)
    if (const auto value = row.group.find(name); value != row.group.end())
      parts.push_back((by.size() > 1 || !value->second.is_string() ? name + " " : "") +
                      parameter_text(value->second));
  if (by.size() == 1 && by[0] == "sweep" && !parts.empty()) parts[0][0] = 'S';
  return parts.empty() ? "The only configuration" : printable(join(parts, ", "));
}

std::string first_row(const ComparisonMessage& comparison) {
  const ComparisonRowMessage& row = comparison.rows.front();
  const std::string label = label_of(row, comparison.by);
  const std::string statistic = comparison.statistic.empty() ? "median" : comparison.statistic;
  const std::string units = row.n == 1
                                ? "one " + comparison.unit
                                : fmt::format("{} of {} {}s", statistic, row.n, comparison.unit);
  const auto& steps = row.steps_to_target;
  if (comparison.target && steps.median && std::isfinite(*steps.median))
    return fmt::format("{} comes first: it reaches {} {} after {} steps ({}).", label,
                       comparison.metric, format_number(comparison.target),
                       format_number(steps.median), units);
  return fmt::format("{} comes first, with a {} of {} ({}).", label, comparison.metric,
                     format_number(row.best.median), units);
}

/// What the verdicts say of the other rows.
std::string how_sure(const ComparisonMessage& comparison) {
  std::size_t others = 0, worse = 0, unclear = 0;
  double largest_p = 0;
  std::string untested;
  for (std::size_t i = 1; i < comparison.rows.size(); ++i) {
    const ComparisonRowMessage& row = comparison.rows[i];
    if (row.n == 0) continue;
    ++others;
    if (row.verdict.starts_with("worse")) {
      ++worse;
      largest_p = std::max(largest_p, row.p.value_or(1));
    } else if (row.verdict.starts_with("no clear difference")) {
      ++unclear;
    } else if (untested.empty()) {
      untested = row.verdict;
    }
  }
  if (others == 0) return "There is no other row with a value to compare it with.";
  const std::string p = fmt::format("(p <= {:.2g})", largest_p);
  if (worse == others)
    return others == 1 ? fmt::format("The other row is proven worse {}.", p)
                       : fmt::format("All {} other rows are proven worse {}.", others, p);
  const std::string rest = unclear > 0 ? "others show no clear difference"
                                       : (untested.empty() ? "others were not tested" : untested);
  if (worse > 0)
    return fmt::format("{} of {} other rows are proven worse {}; {}.", worse, others, p, rest);
  if (unclear > 0) return "No other row differs from it clearly: this may be chance.";
  return fmt::format("That proves nothing: {}.",
                     untested.empty() ? "nothing was tested" : untested);
}

}  // namespace

std::string conclusion(const ComparisonMessage& comparison) {
  if (comparison.rows.empty() || comparison.rows.front().n == 0)
    return fmt::format("No trial has reported {} yet.", comparison.metric);
  return first_row(comparison) + " " + how_sure(comparison);
}

}  // namespace thalweg::cli
