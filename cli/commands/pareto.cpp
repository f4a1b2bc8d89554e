// thalweg pareto: time against node time to a target, and what nobody beats in both.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"

namespace thalweg::cli {
namespace {

struct ParetoOptions : StudyOptions {
  std::optional<double> target;
  bool all = false, money = false;
};

int pareto(Context& context, const ParetoOptions& options) {
  const Json answer =
      ask_study(context, options, "pareto",
                {{"target", options.target ? fmt::format("{}", *options.target) : std::string()},
                 {"cost", options.money ? "money" : ""}});
  print_study(context, options, answer, pareto_table(answer, options.all || options.format.csv));
  return exit_ok;
}

}  // namespace

Table pareto_table(const Json& answer, bool all) {
  std::vector<StudyColumn> columns;
  if (list_at(answer, "sweeps").size() > 1) columns.push_back({"sweep", "sweep", format_number});
  columns.push_back({"target", text_at(answer, "metric"), format_number});
  for (const std::string& name : texts_at(answer, "by"))
    columns.push_back({"group/" + name, last_part(name)});
  columns.push_back({"seconds", "time", format_duration});
  columns.push_back({"node_seconds", "node time", format_duration});
  if (text_at(answer, "cost") == "money") columns.push_back({"money", "money", format_number});
  columns.push_back({"reached", "reached", format_number, 1});
  columns.push_back({"n", "n", format_number, 1});
  if (all) columns.push_back({"frontier", "frontier"});
  Json rows = Json::array();
  for (const Json& row : list_at(answer, "rows"))
    if (all || flag_at(row, "frontier")) rows.push_back(row);
  return study_table(rows, columns);
}

Action make_pareto(Arguments& arguments) {
  auto options = std::make_shared<ParetoOptions>();
  add_study_options(arguments, *options);
  arguments.option("--target", "VALUE", options->target,
                   "times to this value only (default: one frontier for each of the targets)");
  arguments.flag("--money", options->money,
                 "weigh time against money (prices in config.yaml) instead of node time");
  arguments.flag("--all", options->all, "print also what something else beats in both");
  return [options](Context& context) { return pareto(context, *options); };
}

}  // namespace thalweg::cli
