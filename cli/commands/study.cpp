// The command of any row of db/studies: its options are the row's, its answer is printed as the
// controller gives it.
#include "db/studies/study.h"

#include <list>
#include <nlohmann/json.hpp>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

/// Where the values of the row's options stand.
struct Given : StudyOptions {
  std::list<bool> flags;
  std::list<std::optional<double>> numbers;
  std::list<std::vector<std::string>> names;
  std::list<std::function<std::pair<std::string, std::string>()>> query;  ///< one for each option
};

void add_option(const db::StudyOption& option, Arguments& arguments, Given& given) {
  const std::string name(option.name), value(option.value), help(option.help);
  std::string spelling = "--" + name;
  std::replace(spelling.begin(), spelling.end(), '_', '-');
  switch (option.kind) {
    case db::StudyOption::Kind::flag: {
      bool& flag = given.flags.emplace_back(false);
      arguments.flag(spelling, flag, help);
      given.query.push_back([name, &flag] { return std::pair(name, flag ? "1" : ""); });
      return;
    }
    case db::StudyOption::Kind::number: {
      std::optional<double>& number = given.numbers.emplace_back();
      arguments.option(spelling, value, number, help);
      given.query.push_back(
          [name, &number] { return std::pair(name, number ? fmt::format("{}", *number) : ""); });
      return;
    }
    case db::StudyOption::Kind::names: {
      std::vector<std::string>& names = given.names.emplace_back();
      arguments.option(spelling, value, names, help).completes = Completes::group;
      given.query.push_back([name, &names] { return std::pair(name, join(names, ",")); });
      return;
    }
  }
}

std::string shown(const std::string& shows, std::optional<double> value) {
  if (shows == "duration") return format_duration(value);
  if (shows == "share") return format_share(value);
  if (shows == "count" && value) return format_count(static_cast<long long>(*value));
  return value ? format_number(value) : unknown_mark;
}

}  // namespace

Table data_table(const Json& answer) {
  std::vector<StudyColumn> columns;
  for (const Json& column : list_at(answer, "columns")) {
    StudyColumn head{text_at(column, "key"), text_at(column, "title")};
    const std::string shows = text_at(column, "shows");
    if (shows != "text")
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
    add_option(option, arguments, *given);
  return [given, &study](Context& context) {
    std::vector<std::pair<std::string, std::string>> query;
    for (const auto& each : given->query)
      query.push_back(each());
    const Json answer =
        ask_study(context, *given, study.name, query, std::string("studies/") + study.name);
    print_study(context, *given, answer, data_table(answer));
    return exit_ok;
  };
}

}  // namespace thalweg::cli
