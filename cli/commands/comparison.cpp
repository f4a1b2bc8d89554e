#include "cli/commands/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
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
Cell interval_cell(const Json& summary) {
  if (std::isnan(number_at(summary, "median").value_or(0))) return {unknown_mark, "nan"};
  const auto median = number_at(summary, "median");
  return {format_interval(median, number_at(summary, "low"), number_at(summary, "high")),
          plain_text(member(summary, "median")), Tint::none, format_number(median)};
}

/// Infinite where not even half of the seeds got there.
std::string format_steps(std::optional<double> steps) {
  return steps && std::isfinite(*steps) ? format_number(steps) : unknown_mark;
}

/// Trials with a value; a row of a controller that does not say counts trials.
long long trials_used(const Json& row) {
  return count_at(row, member(row, "trials_used").is_null() ? "n" : "trials_used");
}

std::string reached_of(const Json& summary, long long n, const std::string& median) {
  const long long reached = count_at(summary, "reached");
  if (member(summary, "reached").is_null() || reached >= n) return median;
  return fmt::format("{} ({}/{})", median, reached, n);
}

void add_summary_columns(std::vector<Column>& columns, const std::string& key, Column shown) {
  shown.key = key + "_median";
  shown.align = Align::right;
  columns.push_back(shown);
  for (const char* part : {"_low", "_high"}) {
    Column column;
    column.key = key + part;
    column.csv_only = true;
    columns.push_back(column);
  }
}

void add_summary_cells(std::vector<Cell>& row, const Json& summary, const Cell& shown) {
  row.push_back({shown.text, plain_text(member(summary, "median")), Tint::none, shown.brief});
  row.push_back({"", plain_text(member(summary, "low"))});
  row.push_back({"", plain_text(member(summary, "high"))});
}

std::vector<Column> columns_of(const Json& comparison, const std::vector<std::string>& by) {
  std::vector<Column> columns{{"rank", "#", Align::right}};
  for (const std::string& name : by) {
    Column column{name, short_name(name, by)};
    column.shrinks = true;
    columns.push_back(column);
  }
  for (const std::string& name : texts_at(comparison, "best_over")) {
    Column column{name, "best " + short_name(name, by)};
    column.shrinks = true;
    columns.push_back(column);
  }
  if (!texts_at(comparison, "best_over").empty())
    columns.push_back({"choices", "", Align::right, false, 0, true});
  columns.push_back({"n", "n", Align::right});
  columns.push_back({"configurations", "", Align::right, false, 0, true});
  columns.push_back({"trials_used", "trials", Align::right, false, 3});
  columns.push_back({"finished", "", Align::right, false, 0, true});
  columns.push_back({"failed", "failed", Align::right, false, 0});
  Column best;
  best.title = text_at(comparison, "metric");
  add_summary_columns(columns, "best", best);
  const auto target = number_at(comparison, "target");
  const std::string to = target ? " to " + format_number(target) : " to target";
  Column steps{"", "steps" + to}, seconds{"", "time" + to}, cost{"", "node time" + to};
  seconds.leaves = 1;
  cost.leaves = 2;
  Column whole;
  whole.csv_only = true;
  add_summary_columns(columns, "steps_to_target", steps);
  columns.push_back({"reached", "", Align::right, false, 0, true});
  add_summary_columns(columns, "seconds_to_target", seconds);
  add_summary_columns(columns, "node_seconds_to_target", cost);
  add_summary_columns(columns, "cost_node_seconds", whole);
  columns.push_back({"samples_per_s", "samples/s", Align::right, false, 4});
  Column verdict{"verdict", "verdict", Align::left, true};
  verdict.least = 26;  // "3 configurations, 6 needed"
  columns.push_back(verdict);
  columns.push_back({"trials", "", Align::left, false, 0, true});
  return columns;
}

Tint tint_of_verdict(const std::string& verdict) {
  if (verdict.starts_with("best")) return Tint::green;
  if (verdict.starts_with("worse")) return Tint::red;
  return Tint::none;
}

}  // namespace

Table comparison_table(const Json& comparison, const std::function<bool(const Json&)>& shown) {
  const std::vector<std::string> by = texts_at(comparison, "by");
  const Json& rows = list_at(comparison, "rows");
  const bool target = std::any_of(rows.begin(), rows.end(), [](const Json& row) {
    return count_at(member(row, "steps_to_target"), "reached") > 0;
  });
  Table table(columns_of(comparison, by));
  for (const Json& entry : rows) {
    if (shown && !shown(entry)) continue;
    const long long n = count_at(entry, "n"), used = trials_used(entry);
    std::vector<Cell> row{number_cell(member(entry, "rank"))};
    for (const std::string& name : by)
      row.push_back(number_cell(member(member(entry, "group"), name.c_str())));
    for (const std::string& name : texts_at(comparison, "best_over"))
      row.push_back(number_cell(member(member(entry, "chosen"), name.c_str())));
    if (!texts_at(comparison, "best_over").empty())
      row.push_back(number_cell(member(entry, "choices")));
    row.push_back(number_cell(member(entry, "n")));
    row.push_back(number_cell(member(entry, "configurations")));
    row.push_back({used == n ? "" : std::to_string(used), std::to_string(used)});
    row.push_back(number_cell(member(entry, "finished")));
    const long long failed = count_at(entry, "failed");
    row.push_back({failed > 0 ? std::to_string(failed) : "", std::to_string(failed), Tint::red});
    const Json& best = member(entry, "best");
    add_summary_cells(row, best, interval_cell(best));
    const Json& steps = member(entry, "steps_to_target");
    add_summary_cells(
        row, steps,
        target ? reached_of(steps, used, format_steps(number_at(steps, "median"))) : "");
    row.push_back({"", plain_text(member(steps, "reached"))});
    const Json& seconds = member(entry, "seconds_to_target");
    add_summary_cells(row, seconds, target ? format_duration(number_at(seconds, "median")) : "");
    const Json& cost = member(entry, "node_seconds_to_target");
    add_summary_cells(row, cost, target ? format_duration(number_at(cost, "median")) : "");
    add_summary_cells(row, member(entry, "cost_node_seconds"), "");
    const Json& rate = member(member(entry, "samples_per_s"), "median");
    row.push_back({format_rate(number_of(rate)), plain_text(rate)});
    const std::string verdict = text_at(entry, "verdict");
    row.push_back({verdict, verdict, tint_of_verdict(verdict)});
    row.push_back({"", join(texts_at(entry, "trials"), " ")});
    table.add(std::move(row));
  }
  return table;
}

void print_comparison(Context& context, const Json& comparison) {
  if (list_at(comparison, "rows").empty()) {
    context.out << "nothing to compare yet: no trial of sweep " << text_at(comparison, "sweep")
                << " has reported " << printable(text_at(comparison, "metric")) << '\n';
    return;
  }
  // Rows that wait for their turn say nothing yet; thousands of them hide those that do.
  constexpr std::ptrdiff_t most_empty = 10;
  const Json& rows = list_at(comparison, "rows");
  const auto waits = [](const Json& row) {
    return text_at(row, "verdict") == "no data" && count_at(row, "failed") == 0;
  };
  const auto waiting = std::count_if(rows.begin(), rows.end(), waits);
  const bool all = waiting <= most_empty;
  comparison_table(comparison, [&](const Json& row) {
    return all || !waits(row);
  }).print(context.out, context.palette, context.width());
  const auto say = [&](const std::string& text) {
    for (const std::string& line : wrap(text, context.width()))
      context.out << context.palette(Tint::dim, line) << '\n';
  };
  if (!all) say(fmt::format("{} rows without data are not shown (--csv has them)", waiting));
  const long long in_all = count_at(comparison, "rows_in_all");
  if (in_all > static_cast<long long>(rows.size()))
    say(fmt::format("the best {} of {} rows", rows.size(), in_all));
  for (const std::string& note : texts_at(comparison, "notes"))
    say(printable(note));
}

void print_comparison_next(Context& context, const Json& comparison) {
  const std::string sweep = text_at(comparison, "sweep");
  const Json& rows = list_at(comparison, "rows");
  std::vector<std::pair<std::string, std::string>> next;
  if (!rows.empty() && !list_at(rows[0], "trials").empty()) {
    const std::string trial = texts_at(rows[0], "trials").front();
    next.emplace_back("thalweg show " + trial,
                      "a trial of the best row: parameters, attempts, logs");
    next.emplace_back("thalweg curve " + trial + " " + shell_word(text_at(comparison, "metric")),
                      "its curve");
  }
  if (const auto by = texts_at(comparison, "by"); by.size() > 1) {
    const auto title = short_name(by.front(), by), other = short_name(by[1], by);
    next.emplace_back(fmt::format("thalweg compare {} --by {} --best-over {}", sweep,
                                  shell_word(title), shell_word(other)),
                      fmt::format("each {} at its best {}", title, other));
  }
  next.emplace_back("thalweg query 'select * from latest_metrics'", "your own SQL");
  print_next(context, next);
}

}  // namespace thalweg::cli
