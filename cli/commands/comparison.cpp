// The table of a comparison, and what is said below it.
#include "cli/commands/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "base/shell.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {

using daemon::api::EstimateMessage;
using daemon::api::OtherTargetMessage;
using daemon::api::ToTargetMessage;

namespace {

/// The last part of a dotted name, where no other name of the list ends like it.
std::string short_name(const std::string& name, const std::vector<std::string>& all) {
  const std::string last = name.substr(name.rfind('.') + 1);
  const auto same = std::count_if(all.begin(), all.end(), [&](const std::string& other) {
    return other == last || other.ends_with("." + last);
  });
  return same > 1 ? name : last;
}

/// No trial of the row has a value where the median is no number.
Cell interval_cell(const EstimateMessage& e) {
  if (std::isnan(e.median.value_or(0))) return {unknown_mark, "nan"};
  if (std::isinf(e.median.value_or(0))) return {"diverged", number_cell(e.median).raw};
  return {format_interval(e.median, e.low, e.high), number_cell(e.median).raw, Tint::none,
          format_number(e.median)};
}

/// A controller of before there could be several says the one only.
std::string ids_of(const ComparisonMessage& comparison, const char* separator) {
  return comparison.sweeps.empty() ? comparison.sweep : join(comparison.sweeps, separator);
}

/// Infinite where not even half of the seeds got there.
std::string format_steps(std::optional<double> steps) {
  return steps && std::isfinite(*steps) ? format_number(steps) : unknown_mark;
}

std::string format_probability(std::optional<double> p) {
  return p && std::isfinite(*p) ? fmt::format("{:.2f}", *p) : "";
}

/// Trials with a value; a row of a controller that does not say counts trials.
std::int64_t trials_used(const ComparisonRowMessage& row) {
  return row.trials_used.value_or(row.n);
}

std::string reached_of(const ToTargetMessage& t, std::int64_t n, const std::string& median) {
  if (!t.reached || *t.reached >= n) return median;
  return fmt::format("{} ({}/{})", median, *t.reached, n);
}

/// `statistic` names what stands for the row: "median" unless another one was asked for.
void add_summary_columns(std::vector<Column>& columns, const std::string& key, Column shown,
                         const std::string& statistic) {
  shown.key = key + "_" + statistic;
  shown.align = Align::right;
  columns.push_back(shown);
  for (const char* part : {"_low", "_high"}) {
    Column column;
    column.key = key + part;
    column.csv_only = true;
    columns.push_back(column);
  }
}

void add_summary_cells(std::vector<Cell>& row, const EstimateMessage& e, const Cell& shown) {
  row.push_back({shown.text, number_cell(e.median).raw, Tint::none, shown.brief});
  row.push_back({"", number_cell(e.low).raw});
  row.push_back({"", number_cell(e.high).raw});
}

/// Of parameters by name.
Cell value_cell(const std::map<std::string, Json>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return {};
  const auto number = number_of(found->second);
  return {number ? format_number(number) : printable(shown_parameter(found->second)),
          parameter_text(found->second)};
}

Cell count_cell(std::int64_t count) {
  return {format_number(static_cast<double>(count)), std::to_string(count)};
}

/// Rank, parameters, and how many trials there are of each kind.
std::vector<Column> group_columns(const ComparisonMessage& comparison) {
  const std::vector<std::string>& by = comparison.by;
  std::vector<Column> columns{{"rank", "#", Align::right}};
  for (const std::string& name : by) {
    Column column{name, short_name(name, by)};
    column.shrinks = true;
    columns.push_back(column);
  }
  for (const std::string& name : comparison.best_over) {
    Column column{name, "best " + short_name(name, by)};
    column.shrinks = true;
    columns.push_back(column);
  }
  if (!comparison.best_over.empty())
    columns.push_back({"choices", "", Align::right, false, 0, true});
  columns.push_back({"n", "n", Align::right});
  columns.push_back({"configurations", "", Align::right, false, 0, true});
  columns.push_back({"trials_used", "trials", Align::right, false, 3});
  columns.push_back({"finished", "", Align::right, false, 0, true});
  columns.push_back({"failed", "failed", Align::right, false, 0});
  return columns;
}

std::vector<Column> columns_of(const ComparisonMessage& comparison) {
  std::vector<Column> columns = group_columns(comparison);
  const std::string statistic = comparison.statistic.empty() ? "median" : comparison.statistic;
  const auto add_summary = [&](const std::string& key, const Column& shown) {
    add_summary_columns(columns, key, shown, statistic);
  };
  Column best;
  best.title = comparison.metric;
  add_summary("best", best);
  const auto& target = comparison.target;
  const std::string to = target ? " to " + format_number(target) : " to target";
  Column steps{"", "steps" + to}, seconds{"", "time" + to}, cost{"", "node time" + to};
  seconds.leaves = 1;
  cost.leaves = 2;
  Column whole;
  whole.csv_only = true;
  add_summary("steps_to_target", steps);
  columns.push_back({"reached", "", Align::right, false, 0, true});
  add_summary("samples_to_target", whole);
  add_summary("seconds_to_target", seconds);
  add_summary("node_seconds_to_target", cost);
  if (comparison.priced) {
    Column money{"", (comparison.currency.empty() ? "money" : comparison.currency) + to};
    money.leaves = 2;
    add_summary("money_to_target", money);
    add_summary("money", whole);
  }
  for (const double other : comparison.other_targets) {
    const std::string number = format_number(other), end = "_to_" + number;
    add_summary("steps" + end, {"", "steps to " + number});
    columns.push_back({"reached" + end.substr(3), "", Align::right, false, 0, true});
    Column time{"", "time to " + number};
    time.leaves = 1;
    add_summary("samples" + end, whole);
    add_summary("seconds" + end, time);
    add_summary("node_seconds" + end, whole);
  }
  add_summary("cost_node_seconds", whole);
  columns.push_back({"samples_per_s", "samples/s", Align::right, false, 4});
  add_summary_columns(columns, "improvement", {"", "P(better)", Align::right, false, 5},
                      "probability");
  Column verdict{"verdict", "verdict", Align::left, true};
  verdict.least = 26;  // "3 configurations, 6 needed"
  columns.push_back(verdict);
  columns.push_back({"trials", "", Align::left, false, 0, true});
  columns.push_back({"ended_early", "", Align::right, false, 0, true});
  return columns;
}

Tint tint_of_verdict(const std::string& verdict) {
  if (verdict.starts_with("best")) return Tint::green;
  if (verdict.starts_with("worse")) return Tint::red;
  return Tint::none;
}

}  // namespace

namespace {

std::vector<Cell> cells_of(const ComparisonMessage& comparison, const ComparisonRowMessage& entry,
                           bool target) {
  const std::int64_t used = trials_used(entry);
  std::vector<Cell> row{count_cell(entry.rank)};
  for (const std::string& name : comparison.by)
    row.push_back(value_cell(entry.group, name));
  for (const std::string& name : comparison.best_over)
    row.push_back(value_cell(entry.chosen, name));
  if (!comparison.best_over.empty()) row.push_back(count_cell(entry.choices));
  row.push_back(count_cell(entry.n));
  row.push_back(count_cell(entry.configurations));
  row.push_back({used == entry.n ? "" : std::to_string(used), std::to_string(used)});
  row.push_back(count_cell(entry.finished));
  const std::string failed = std::to_string(entry.failed);
  row.push_back({entry.failed > 0 ? failed : "", failed, Tint::red});
  add_summary_cells(row, entry.best, interval_cell(entry.best));
  const ToTargetMessage& steps = entry.steps_to_target;
  add_summary_cells(row, steps, target ? reached_of(steps, used, format_steps(steps.median)) : "");
  row.push_back({"", steps.reached ? std::to_string(*steps.reached) : ""});
  add_summary_cells(row, entry.samples_to_target, "");
  for (const EstimateMessage* time : {&entry.seconds_to_target, &entry.node_seconds_to_target})
    add_summary_cells(row, *time, target ? format_duration(time->median) : "");
  if (comparison.priced) {
    const auto& money = entry.money_to_target.median;
    add_summary_cells(row, entry.money_to_target,
                      target && money && std::isfinite(*money) ? format_number(money) : "");
    add_summary_cells(row, entry.money, "");
  }
  for (const OtherTargetMessage& other : entry.other_targets) {
    const ToTargetMessage& there = other.steps;
    add_summary_cells(row, there, reached_of(there, used, format_steps(there.median)));
    row.push_back({"", there.reached ? std::to_string(*there.reached) : ""});
    add_summary_cells(row, other.samples, "");
    add_summary_cells(row, other.seconds, format_duration(other.seconds.median));
    add_summary_cells(row, other.node_seconds, "");
  }
  add_summary_cells(row, entry.cost_node_seconds, "");
  const auto& rate = entry.samples_per_s.median;
  row.push_back({format_rate(rate), number_cell(rate).raw});
  add_summary_cells(row, entry.improvement, format_probability(entry.improvement.median));
  row.push_back({entry.verdict, entry.verdict, tint_of_verdict(entry.verdict)});
  row.push_back({"", join(entry.trials, " ")});
  row.push_back({"", entry.ended_early ? std::to_string(*entry.ended_early) : ""});
  return row;
}

}  // namespace

Table comparison_table(const ComparisonMessage& comparison,
                       const std::function<bool(const ComparisonRowMessage&)>& shown) {
  const bool target =
      std::any_of(comparison.rows.begin(), comparison.rows.end(),
                  [](const auto& row) { return row.steps_to_target.reached.value_or(0) > 0; });
  Table table(columns_of(comparison));
  for (const ComparisonRowMessage& row : comparison.rows)
    if (!shown || shown(row)) table.add(cells_of(comparison, row, target));
  return table;
}

namespace {

/// Rows that wait for their turn say nothing yet; thousands of them hide those that do.
bool waits(const ComparisonRowMessage& row) {
  return row.verdict == "no data" && row.failed == 0;
}

/// Which rows are printed of very many, and what is said of the others.
struct PrintedRows {
  std::set<const ComparisonRowMessage*> rows;
  std::vector<std::string> notes;
};

PrintedRows rows_to_print(const ComparisonMessage& comparison, std::size_t max_rows) {
  constexpr std::ptrdiff_t max_empty = 10;
  const auto& rows = comparison.rows;
  const auto waiting = std::count_if(rows.begin(), rows.end(), waits);
  const bool all = waiting <= max_empty;
  PrintedRows printed;
  std::size_t with_data = 0;
  for (const ComparisonRowMessage& row : rows) {
    if (!all && waits(row)) continue;
    if (++with_data <= max_rows || max_rows == 0) printed.rows.insert(&row);
  }
  if (!all)
    printed.notes.push_back(
        fmt::format("{} rows without data are not shown (--csv has them)", waiting));
  if (printed.rows.size() < with_data)
    printed.notes.push_back(fmt::format("the best {} of {} rows (--top 0 prints all of them)",
                                        printed.rows.size(), with_data));
  else if (comparison.rows_in_all > static_cast<std::int64_t>(rows.size()))
    printed.notes.push_back(
        fmt::format("the best {} of {} rows", rows.size(), comparison.rows_in_all));
  return printed;
}

/// A parameter whose values are in several rows each, and another one that may be chosen for it;
/// nothing where each draw has values of its own.
std::optional<std::pair<std::string, std::string>> best_over_names(
    const ComparisonMessage& comparison) {
  const auto& by = comparison.by;
  if (by.size() < 2) return std::nullopt;
  for (const std::string& name : by) {
    std::map<std::string, int> rows;
    for (const ComparisonRowMessage& row : comparison.rows)
      if (const auto value = row.group.find(name); value != row.group.end())
        ++rows[parameter_text(value->second)];
    const bool repeated =
        std::any_of(rows.begin(), rows.end(), [](const auto& value) { return value.second > 1; });
    if (repeated && rows.size() > 1)
      return std::pair{short_name(name, by), short_name(name == by[0] ? by[1] : by[0], by)};
  }
  return std::nullopt;
}

/// The command that a note of the comparison proposes for missing seeds; empty where none does.
std::string extend_command(const ComparisonMessage& comparison) {
  const std::string begin = "`thalweg extend ";
  for (const std::string& note : comparison.notes)
    if (const auto at = note.find(begin); at != note.npos)
      return note.substr(at + 1, note.find('`', at + 1) - at - 1);
  return "";
}

}  // namespace

void print_comparison(Context& context, const ComparisonMessage& comparison, std::size_t max_rows) {
  if (comparison.rows.empty()) {
    context.out << fmt::format("nothing to compare yet: no trial of {} {} has reported {}\n",
                               comparison.sweeps.size() > 1 ? "sweeps" : "sweep",
                               ids_of(comparison, ", "), printable(comparison.metric));
    return;
  }
  const PrintedRows printed = rows_to_print(comparison, max_rows);
  // Without any row there is nothing to tell which columns are worth their width.
  if (!printed.rows.empty())
    comparison_table(comparison, [&](const ComparisonRowMessage& row) {
      return printed.rows.contains(&row);
    }).print(context.out, context.palette, context.width());
  const auto say = [&](const std::string& text) {
    for (const std::string& line : wrap(text, context.width()))
      context.out << context.palette(Tint::dim, line) << '\n';
  };
  for (const std::string& note : printed.notes)
    say(note);
  for (const std::string& note : comparison.notes)
    say(printable(note));
}

void print_comparison_next(Context& context, const ComparisonMessage& comparison) {
  const auto& rows = comparison.rows;
  std::vector<std::pair<std::string, std::string>> next;
  if (const std::string extend = extend_command(comparison); !extend.empty())
    next.emplace_back(extend, "the seeds that a verdict needs; nothing runs twice");
  if (const auto names = best_over_names(comparison))
    next.emplace_back(
        fmt::format("thalweg compare {} --by {} --best-over {}", ids_of(comparison, " "),
                    shell_word(names->first), shell_word(names->second)),
        fmt::format("each {} at its best {}", names->first, names->second));
  if (next.size() < 2 && !rows.empty() && !rows[0].trials.empty())
    next.emplace_back("thalweg show " + rows[0].trials.front(),
                      "a trial of the best row: parameters, attempts, logs");
  if (next.size() < 2 && !rows.empty() && !rows[0].trials.empty())
    next.emplace_back(
        "thalweg curve " + rows[0].trials.front() + " " + shell_word(comparison.metric),
        "its curve");
  next.emplace_back("thalweg report " + comparison.sweep, "all of it as one HTML page");
  print_next(context, next);
}

}  // namespace thalweg::cli
