// The command of any row of db/studies: its options are the row's, its answer is printed as the
// controller gives it.
#include "db/studies/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <nlohmann/json.hpp>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

/// An option of the row, and where its value stands.
struct GivenOption {
  const db::StudyOption& option;
  bool flag = false;
  std::optional<double> number{};
  std::vector<std::string> names{};

  /// As the controller is asked; empty: it was not given.
  std::string text() const {
    if (number) return fmt::format("{}", *number);
    return flag ? "1" : join(names, ",");
  }
};

struct Given : StudyOptions {
  std::list<GivenOption> rows;  // arguments point into them
};

void add_option(Arguments& arguments, GivenOption& given) {
  const std::string value(given.option.value), help(given.option.help);
  std::string spelling = "--" + std::string(given.option.name);
  std::replace(spelling.begin(), spelling.end(), '_', '-');
  switch (given.option.kind) {
    case db::StudyOption::Kind::flag:
      arguments.flag(spelling, given.flag, help);
      return;
    case db::StudyOption::Kind::number:
      arguments.option(spelling, value, given.number, help);
      return;
    case db::StudyOption::Kind::names:
      arguments.option(spelling, value, given.names, help).completes = Completes::group;
      return;
  }
}

using Shows = db::DataColumn::Shows;

std::string shown(Shows shows, std::optional<double> value) {
  if (shows == Shows::duration) return format_duration(value);
  if (shows == Shows::share) return format_share(value);
  if (shows == Shows::count && value) return format_count(static_cast<long long>(*value));
  return value ? format_number(value) : unknown_mark;
}

}  // namespace

Table data_table(const Json& answer) {
  std::vector<StudyColumn> columns;
  for (const Json& column : list_at(answer, "columns")) {
    StudyColumn head{text_at(column, "key"), text_at(column, "title")};
    const Shows shows = jobspec::find_name<Shows>(text_at(column, "shows")).value_or(Shows::number);
    if (shows != Shows::text)
      head.show = [shows](std::optional<double> value) { return shown(shows, value); };
    columns.push_back(std::move(head));
  }
  return study_table(list_at(answer, "rows"), columns);
}

ColumnNotes data_notes(const Json& answer) {
  ColumnNotes notes;
  for (const Json& column : list_at(answer, "columns"))
    if (const std::string note = text_at(column, "note"); !note.empty())
      notes.emplace_back(text_at(column, "key"), note);
  return notes;
}

Action make_study(const db::Study& study, Arguments& arguments) {
  auto given = std::make_shared<Given>();
  add_study_options(arguments, *given);
  for (const db::StudyOption& option : study.options)
    add_option(arguments, given->rows.emplace_back(option));
  return [given, &study](Context& context) {
    std::vector<std::pair<std::string, std::string>> query;
    for (const GivenOption& each : given->rows)
      query.emplace_back(each.option.name, each.text());
    const Json answer =
        ask_study(context, *given, study.name, query, std::string("studies/") + study.name);
    print_study(context, *given, answer, data_table(answer));
    return exit_ok;
  };
}

}  // namespace thalweg::cli
