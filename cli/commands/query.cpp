// thalweg query: a person's own SQL on the documented views.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "cli/commands/common.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct QueryOptions {
  std::string sql;
  std::int64_t max_rows = 0;
  bool views = false;
  Format format;
};

Table result_table(const Json& answer) {
  const Json& rows = list_at(answer, "rows");
  std::vector<Column> columns;
  for (const std::string& name : texts_at(answer, "columns")) {
    const std::size_t c = columns.size();
    bool numeric = !rows.empty(), any = false;
    for (const Json& row : rows) {
      const Json& value = row.is_array() && c < row.size() ? row[c] : Json();
      any = any || value.is_number();
      numeric = numeric && (value.is_number() || value.is_null());
    }
    Column column{name, printable(name), numeric && any ? Align::right : Align::left};
    column.shrinks = !numeric;
    columns.push_back(column);
  }
  Table table(columns);
  for (const Json& row : rows) {
    std::vector<Cell> cells;
    for (const Json& value : row) {
      Cell cell(plain_text(value));
      if (value.is_null()) cell = {"null", "", Tint::dim};
      cells.push_back(std::move(cell));
    }
    table.add(std::move(cells));
  }
  return table;
}

/// Every documented view with its columns.
int list_views(Context& context, const QueryOptions& options) {
  Json views = Json::object();
  for (const char* view : {"sweeps", "trials", "attempts", "starts", "ranks", "hyperparameters",
                           "metrics", "replaced_metrics", "latest_metrics", "events"}) {
    const std::string sql = fmt::format("PRAGMA table_info({})", view);
    const Json answer = context.controller().post("/v1/query", {{"sql", sql}});
    for (const Json& row : list_at(answer, "rows"))
      if (row.is_array() && row.size() > 1) views[view].push_back(row[1]);
  }
  if (options.format.json) {
    print_json(context.out, views);
    return exit_ok;
  }
  Table table({{"view", "view"}, {"column", "columns"}});
  for (const auto& [view, columns] : views.items()) {
    std::string head = view;
    for (const std::string& line : wrap(join(texts_at(views, view.c_str()), ", "), 60))
      table.add({std::exchange(head, ""), printable(line)});
  }
  print_table(context, table, options.format);
  return exit_ok;
}

int query(Context& context, const QueryOptions& options) {
  if (options.views) return list_views(context, options);
  if (options.sql.empty())
    throw CommandError(exit_bad_input, "SQL is required",
                       "thalweg query --views says what can be asked");
  Json request{{"sql", options.sql == "-" ? read_file("-") : options.sql}};
  if (options.max_rows > 0) request["max_rows"] = options.max_rows;
  const Json answer = context.controller().post("/v1/query", request);
  if (options.format.json) {
    print_json(context.out, answer);
    return exit_ok;
  }
  const Table table = result_table(answer);
  if (table.empty() && !options.format.csv)
    context.out << "no rows\n";
  else
    print_table(context, table, options.format);
  if (flag_at(answer, "truncated")) {
    context.out.flush();
    context.err << "only the first " << count_of(list_at(answer, "rows").size(), "row")
                << " (--max-rows N for more)\n";
  }
  return exit_ok;
}

}  // namespace

Action make_query(Arguments& arguments) {
  auto options = std::make_shared<QueryOptions>();
  arguments.positional("SQL", options->sql, "one SELECT; - reads standard input").required = false;
  arguments.flag("--views", options->views, "only name the views and their columns");
  arguments.option("--max-rows", "N", options->max_rows, "at most N rows");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return query(context, *options); };
}

}  // namespace thalweg::cli
