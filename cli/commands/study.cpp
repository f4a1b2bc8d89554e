// The command of any row of db/studies: its options are the row's, its answer is printed as the
// controller gives it.
#include "db/studies/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text.h"
#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "daemon/api/study_messages.h"

namespace thalweg::cli {
namespace {

std::string spelling_of(const db::StudyOption& option) {
  std::string spelling = "--" + std::string(option.name);
  std::replace(spelling.begin(), spelling.end(), '_', '-');
  return spelling;
}

void add_option(Arguments& arguments, GivenOption& given) {
  using Kind = db::StudyOption::Kind;
  const std::string value(given.option.value), help(given.option.help);
  const std::string spelling = spelling_of(given.option);
  switch (given.option.kind) {
    case Kind::flag:
      arguments.flag(spelling, given.flag, help);
      return;
    case Kind::number:
      arguments.option(spelling, value, given.number, help);
      return;
    case Kind::names:
      arguments.option(spelling, value, given.names, help).completes = Completes::group;
      return;
    case Kind::text:
      arguments.option(spelling, value, given.word, help).choices =
          split_at_commas(given.option.choices);
      return;
    case Kind::metric:
      arguments.option(spelling, value, given.word, help).completes = Completes::metric;
      return;
    case Kind::numbers:
    case Kind::pairs:
      arguments.option(spelling, value, given.names, help);
      return;
  }
}

/// "14=12" as "14:12", with numbers for names.
std::string pair_text(Context& context, const GivenOption& given) {
  std::vector<std::string> pairs;
  for (const std::string& text : given.names) {
    const auto equals = text.find('=');
    if (equals == text.npos)
      throw CommandError(exit_bad_input,
                         fmt::format("{} {}: expected two sweeps", spelling_of(given.option), text),
                         spelling_of(given.option) + " 14=12");
    const jobspec::Id first = id_or_newest(context, text.substr(0, equals)),
                      second = id_or_newest(context, text.substr(equals + 1));
    pairs.push_back(fmt::format("{}:{}", first.to_string(), second.to_string()));
  }
  return join(pairs, ",");
}

/// As the controller is asked; empty: it was not given.
std::string query_text(Context& context, const GivenOption& given) {
  if (given.option.kind == db::StudyOption::Kind::pairs) return pair_text(context, given);
  if (given.number) return fmt::format("{}", *given.number);
  if (given.flag) return "1";
  return given.word.empty() ? join(given.names, ",") : given.word;
}

using Shows = db::DataColumn::Shows;

constexpr int leaves_first = 100;  ///< in a narrow window

std::string shown_number(Shows shows, double value) {
  switch (shows) {
    case Shows::duration:
      return format_duration(value);
    case Shows::share:
      return format_share(value);
    case Shows::percent:
      return std::isfinite(value) ? fmt::format("{:.1f} %", 100 * value) : unknown_mark;
    case Shows::portion:
      return format_percent(value);
    case Shows::count:
      return std::isfinite(value) ? format_count(static_cast<long long>(value))
                                  : format_number(value);
    case Shows::finite:
      return format_finite(value);
    case Shows::rate:
      return format_rate(value);
    case Shows::times:
      return std::isfinite(value) ? fmt::format("{:.2f}", value) : unknown_mark;
    default:
      return format_number(value);
  }
}

bool is_text(Shows shows) {
  return shows == Shows::text || shows == Shows::flag;
}

Cell cell_of(const db::Datum& value, Shows shows) {
  const std::string raw = plain_text(daemon::api::datum_json(value, shows));
  if (const auto* number = std::get_if<double>(&value)) return {shown_number(shows, *number), raw};
  if (const auto* text = std::get_if<std::string>(&value))  // of a parameter with all digits
    return {printable(format_values(*text)), raw};
  if (const auto* interval = std::get_if<db::DataInterval>(&value))
    return {fmt::format("{} [{}, {}]", format_number(interval->value), format_number(interval->low),
                        std::isfinite(interval->high) ? format_number(interval->high)
                                                      : std::string("not bounded")),
            raw};
  if (std::holds_alternative<bool>(value) || is_text(shows)) return raw;
  return {unknown_mark, raw};
}

/// "████▌": eighths of a column.
Cell bar_cell(const db::Datum& share) {
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr int bar_columns = 30;
  const auto* number = std::get_if<double>(&share);
  const double known = number && std::isfinite(*number) ? std::clamp(*number, 0.0, 1.0) : 0;
  const auto parts = static_cast<int>(std::lround(known * bar_columns * 8));
  std::string bar;
  for (int i = 0; i < parts / 8; ++i)
    bar += "█";
  return {bar + eighths[parts % 8], "", Tint::cyan};
}

void write_svg(Context& context, const db::Study& study, const db::DataTable& answer,
               const std::string& file) {
  std::string text;
  if (!answer.charts.empty())
    text = drawn(study.name, answer.charts.front(), answer.charts.front().bars.size()).second;
  if (text.empty())
    throw CommandError(exit_not_found, "nothing to draw: the table has no numbers yet");
  write_out(context, file, text);
}

void print_titled(Context& context, const db::DataTable& answer) {
  if (!answer.title.empty()) context.out << printable(answer.title) << '\n';
  const Table table = data_table(answer, true);
  if (!table.empty()) print_table(context, table, {});
}

}  // namespace

Table data_table(const db::DataTable& answer, bool drawn) {
  std::vector<Column> columns;
  for (const db::DataColumn& head : answer.columns) {
    Column column{head.key, head.title, is_text(head.shows) ? Align::left : Align::right};
    column.shrinks = is_text(head.shows);
    column.leaves = head.leaves;
    columns.push_back(column);
    if (!drawn || head.shows != Shows::portion) continue;
    columns.push_back({"", ""});
    columns.back().leaves = leaves_first;
  }
  Table table(std::move(columns));
  for (const auto& row : answer.rows) {
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells.push_back(cell_of(row[i], answer.columns[i].shows));
      if (drawn && answer.columns[i].shows == Shows::portion) cells.push_back(bar_cell(row[i]));
    }
    table.add(std::move(cells));
  }
  return table;
}

std::vector<std::pair<const db::DataFact*, std::string>> shown_facts(const db::DataTable& answer) {
  std::vector<std::pair<const db::DataFact*, std::string>> facts;
  for (const db::DataFact& fact : answer.facts) {
    const auto* number = std::get_if<double>(&fact.value);
    const bool unknown =
        std::holds_alternative<std::monostate>(fact.value) || (number && !std::isfinite(*number));
    if (fact.head.title.empty() || unknown) continue;
    facts.emplace_back(&fact, cell_of(fact.value, fact.head.shows).text);
  }
  return facts;
}

void add_row_options(Arguments& arguments, const db::Study& study, StudyOptions& options) {
  for (const db::StudyOption& option : study.options)
    if (!option.help.empty()) add_option(arguments, options.rows.emplace_back(option));
  if (study.draws)
    arguments.option("--svg", "FILE", options.svg, "write the picture as SVG (- prints it)")
        .completes = Completes::file;
  add_json_and_csv(arguments, options.format);
}

Query query_of(Context& context, const StudyOptions& options) {
  Query query;
  for (const GivenOption& each : options.rows)
    query.emplace_back(each.option.name, query_text(context, each));
  if (options.format.json || options.format.csv) query.emplace_back("scripts", "1");
  if (!options.svg.empty()) query.emplace_back("chart", "1");
  return query;
}

void print_answer(Context& context, const db::Study& study, const StudyOptions& options,
                  const Json& json) {
  const Format& format = options.format;
  if (format.json) {
    print_json(context.out, json);
    return;
  }
  const auto answer = read_answer<db::DataTable>(json);
  if (!options.svg.empty()) {
    write_svg(context, study, answer, options.svg);
    return;
  }
  if (format.csv) {
    print_table(context, data_table(answer), format);
    return;
  }
  print_titled(context, answer);
  for (const db::DataTable& further : answer.further) {
    context.out << '\n';
    print_titled(context, further);
  }
  std::vector<std::pair<std::string, Cell>> pairs;
  for (const auto& [fact, text] : shown_facts(answer))
    pairs.emplace_back(fact->head.title, text);
  if (!pairs.empty()) context.out << '\n';
  print_pairs(context, pairs);
  for (const std::string& line : answer.summary)
    for (const std::string& part : wrap(printable(line), context.width()))
      context.out << part << '\n';
  print_notes(context, answer.notes);
}

namespace {

std::string trial_text(Context& context, const std::string& text) {
  const jobspec::Id id = find_id(context, text);
  if (is_sweep(id))
    throw CommandError(
        exit_bad_input,
        fmt::format("{} is a sweep: name a trial, as {}.1, or an attempt", text, id.to_string()));
  return id.to_string();
}

}  // namespace

Action make_study(const db::Study& study, Arguments& arguments) {
  auto given = std::make_shared<StudyOptions>();
  const bool of_trials = study.of == db::Study::Of::trials;
  Argument& ids = arguments.positional(
      "ID", given->ids,
      of_trials ? "trials, or attempts of them" : "sweeps, one or several (default: the newest)");
  ids.required = of_trials;
  ids.completes = Completes::id;
  add_row_options(arguments, study, *given);
  return [given, &study, of_trials](Context& context) {
    std::vector<std::string> asked = given->ids;
    if (asked.empty()) asked.emplace_back();
    for (std::string& id : asked)
      id = of_trials ? trial_text(context, id)
                     : sweep_or_newest(context, id, study.name).to_string();
    const std::string path = fmt::format("/v1/studies/{}?{}={}", study.name,
                                         of_trials ? "trials" : "sweeps", join(asked, ","));
    print_answer(context, study, *given,
                 context.controller().get(with_query(path, query_of(context, *given))));
    return exit_ok;
  };
}

}  // namespace thalweg::cli
