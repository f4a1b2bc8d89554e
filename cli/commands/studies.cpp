#include "cli/commands/studies.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"

namespace thalweg::cli {

void add_study_options(Arguments& arguments, StudyOptions& options) {
  Argument& ids =
      arguments.positional("ID", options.ids, "sweeps, one or several (default: the newest)");
  ids.required = false;
  ids.completes = Completes::id;
  add_json_and_csv(arguments, options.format);
}

Json ask_study(Context& context, const StudyOptions& options, const std::string& name,
               const std::vector<std::pair<std::string, std::string>>& query,
               const std::string& path) {
  std::vector<std::string> ids = options.ids;
  if (ids.empty()) ids.emplace_back();
  std::vector<std::string> sweeps;
  for (const std::string& text : ids) {
    const jobspec::Id id = id_or_newest(context, text);
    if (!is_sweep(id))
      throw CommandError(exit_bad_input, name + " takes sweeps, not " + id.to_string(),
                         fmt::format("thalweg {} {}", name, id.sweep));
    sweeps.push_back(std::to_string(id.sweep));
  }
  return context.controller().get(with_query(
      fmt::format("/v1/{}?sweeps={}", path.empty() ? name : path, join(sweeps, ",")), query));
}

const Json& study_member(const Json& row, const std::string& key) {
  const auto slash = key.find('/');
  if (slash != std::string::npos)
    return member(member(row, key.substr(0, slash).c_str()), key.substr(slash + 1).c_str());
  const Json& value = member(row, key.c_str());
  return value.is_object() ? member(value, "median") : value;
}

Table study_table(const Json& rows, const std::vector<StudyColumn>& columns) {
  std::vector<Column> heads;
  for (const StudyColumn& column : columns) {
    const std::string name = column.key.substr(column.key.find('/') + 1);  // all without a "/"
    Column head{name, column.title, column.show ? Align::right : Align::left};
    head.leaves = column.leaves;
    head.shrinks = !column.show;
    heads.push_back(head);
  }
  Table table(heads);
  for (const Json& row : rows) {
    std::vector<Cell> cells;
    for (const StudyColumn& column : columns) {
      const Json& value = study_member(row, column.key);
      if (column.show) {
        const auto number = number_of(value);
        cells.emplace_back(column.show(number), plain_text(value));
      } else {
        // A value of a group, which `group/NAME` names, is a text with all digits.
        const bool of_group = column.key.find('/') != column.key.npos;
        const std::string text = plain_text(value);
        cells.emplace_back(printable(of_group ? format_values(text) : text), text);
      }
    }
    table.add(std::move(cells));
  }
  return table;
}

void print_study(Context& context, const StudyOptions& options, const Json& answer,
                 const Table& table) {
  if (options.format.json) {
    print_json(context.out, answer);
    return;
  }
  if (!table.empty() || options.format.csv) print_table(context, table, options.format);
  if (!options.format.csv) print_notes(context, texts_at(answer, "notes"));
}

}  // namespace thalweg::cli
