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
  return {format_interval(number_at(summary, "median"), number_at(summary, "low"),
                          number_at(summary, "high")),
          plain_text(member(summary, "median"))};
}

/// Infinite where not even half of the seeds got there.
std::string format_steps(std::optional<double> steps) {
  return steps && std::isfinite(*steps) ? format_number(steps) : unknown_mark;
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

void add_summary_cells(std::vector<Cell>& row, const Json& summary, const std::string& shown) {
  row.push_back({shown, plain_text(member(summary, "median"))});
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
  columns.push_back({"n", "n", Align::right});
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
  columns.push_back({"samples_per_s", "samples/s", Align::right, false, 3});
  Column verdict{"verdict", "verdict", Align::left, true};
  verdict.least = 19;  // "no clear difference"
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

Table comparison_table(const Json& comparison) {
  const std::vector<std::string> by = texts_at(comparison, "by");
  const bool target = number_at(comparison, "target").has_value();
  Table table(columns_of(comparison, by));
  for (const Json& entry : list_at(comparison, "rows")) {
    const long long n = count_at(entry, "n");
    std::vector<Cell> row{number_cell(member(entry, "rank"))};
    for (const std::string& name : by)
      row.push_back(number_cell(member(member(entry, "group"), name.c_str())));
    row.push_back(number_cell(member(entry, "n")));
    row.push_back(number_cell(member(entry, "finished")));
    const long long failed = count_at(entry, "failed");
    row.push_back({failed > 0 ? std::to_string(failed) : "", std::to_string(failed), Tint::red});
    const Json& best = member(entry, "best");
    add_summary_cells(row, best, interval_cell(best).text);
    const Json& steps = member(entry, "steps_to_target");
    add_summary_cells(row, steps,
                      target ? reached_of(steps, n, format_steps(number_at(steps, "median"))) : "");
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
  comparison_table(comparison).print(context.out, context.palette, context.width());
  for (const std::string& note : texts_at(comparison, "notes"))
    for (const std::string& line : wrap(printable(note), context.width()))
      context.out << context.palette(Tint::dim, line) << '\n';
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
  if (const auto by = texts_at(comparison, "by"); by.size() > 1)
    next.emplace_back("thalweg compare " + sweep + " --by " + shell_word(by.front()),
                      "over everything else");
  next.emplace_back("thalweg query 'select * from latest_metrics'", "your own SQL");
  print_next(context, next);
}

}  // namespace thalweg::cli
