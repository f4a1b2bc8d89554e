// thalweg batch: how far larger batches still save steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

struct BatchOptions : StudyOptions {
  std::optional<double> target;
  std::vector<std::string> by;
};

}  // namespace

std::string critical_batch_text(const Json& answer) {
  const auto high = number_at(answer, "b_crit_high");
  return fmt::format("{} [{}, {}]", format_number(number_at(answer, "b_crit")),
                     format_number(number_at(answer, "b_crit_low")),
                     high && std::isfinite(*high) ? format_number(high) : "not bounded");
}

namespace {

/// Names of the chosen values in any of the curves.
std::set<std::string> chosen_in(const std::vector<const Json*>& curves) {
  std::set<std::string> chosen;
  for (const Json* curve : curves)
    for (const Json& point : list_at(*curve, "points"))
      for (const auto& [name, value] : member(point, "chosen").items())
        chosen.insert(name);
  return chosen;
}

/// The points of the groups in one list, each with its group.
Json grouped_points(const Json& answer) {
  Json points = Json::array();
  for (const Json& group : list_at(answer, "groups"))
    for (Json point : list_at(group, "points")) {
      point["group"] = member(group, "group");
      points.push_back(std::move(point));
    }
  return points;
}

}  // namespace

Table batch_table(const Json& answer, bool wide) {
  const Json& groups = list_at(answer, "groups");
  std::vector<const Json*> curves;
  for (const Json& group : groups)
    curves.push_back(&group);
  if (groups.empty()) curves.push_back(&answer);
  std::vector<StudyColumn> columns;
  const std::vector<std::string> by =
      groups.empty() ? std::vector<std::string>() : texts_at(answer, "by");
  for (const std::string& name : by)
    columns.push_back({"group/" + name, last_part(name)});
  columns.push_back({"batch", "batch", format_number});
  for (const std::string& name : chosen_in(curves))
    if (std::find(by.begin(), by.end(), name) == by.end())
      columns.push_back({"chosen/" + name, last_part(name)});
  columns.push_back({"configurations", "of", format_number, 3});
  columns.push_back({"reached", "reached", format_number, 2});
  columns.push_back({"seeds", "seeds", format_number, 2});
  columns.push_back(
      {"steps", "steps to " + format_number(number_at(answer, "target")), format_number});
  columns.push_back({"samples", "samples", format_number});
  const bool fitted = std::any_of(curves.begin(), curves.end(),
                                  [](const Json* curve) { return flag_at(*curve, "fitted"); });
  if (fitted || wide) {
    columns.push_back({"fitted", "fitted", format_number, 1});
    columns.push_back({"regime", "regime"});
  }
  if (wide) columns.push_back({"noise_scale", "noise scale", format_number});
  return study_table(groups.empty() ? list_at(answer, "points") : grouped_points(answer), columns);
}

namespace {

/// The fit of each group.
Table batch_fit_table(const Json& answer) {
  std::vector<Column> columns;
  const std::vector<std::string> by = texts_at(answer, "by");
  for (const std::string& name : by)
    columns.push_back({name, last_part(name)});
  columns.push_back({"b_crit", "critical batch", Align::right});
  columns.push_back({"s_min", "fewest steps", Align::right});
  columns.push_back({"e_min", "fewest samples", Align::right});
  columns.push_back({"residual", "log residual", Align::right});
  columns.push_back({"noise_scale", "noise scale", Align::right});
  Table table(std::move(columns));
  for (const Json& group : list_at(answer, "groups")) {
    std::vector<Cell> cells;
    for (const std::string& name : by)
      cells.emplace_back(printable(text_at(member(group, "group"), name.c_str())));
    const bool fitted = flag_at(group, "fitted");
    cells.emplace_back(fitted ? critical_batch_text(group) : "–");
    for (const char* number : {"s_min", "e_min", "residual"})
      cells.emplace_back(fitted ? format_number(number_at(group, number)) : "–");
    cells.emplace_back(format_number(number_at(group, "noise_scale")));
    table.add(std::move(cells));
  }
  return table;
}

constexpr const char* kLaw =
    "steps = fewest steps (1 + critical batch / batch), fitted by least squares of logs;\n"
    "the interval is approximate (profile likelihood, 95 %)\n";

void print_fit(Context& context, const Json& answer) {
  if (!list_at(answer, "groups").empty()) {
    context.out << '\n';
    print_table(context, batch_fit_table(answer), {});
    context.out << kLaw;
    return;
  }
  if (!flag_at(answer, "fitted")) return;
  std::vector<std::pair<std::string, Cell>> pairs{
      {"critical batch", critical_batch_text(answer)},
      {"fewest steps", format_number(number_at(answer, "s_min"))},
      {"fewest samples", format_number(number_at(answer, "e_min"))},
      {"log residual", format_number(number_at(answer, "residual"))}};
  const auto noise = number_at(answer, "noise_scale");
  if (noise && std::isfinite(*noise)) pairs.emplace_back("noise scale", format_number(noise));
  context.out << '\n';
  print_pairs(context, pairs);
  context.out << kLaw;
}

int batch(Context& context, const BatchOptions& options) {
  const Json answer =
      ask_study(context, options, "batch",
                {{"target", options.target ? fmt::format("{}", *options.target) : std::string()},
                 {"by", join(options.by, ",")}});
  print_study(context, options, answer, batch_table(answer, options.format.csv));
  if (!options.format.json && !options.format.csv) print_fit(context, answer);
  return exit_ok;
}

}  // namespace

Action make_batch(Arguments& arguments) {
  auto options = std::make_shared<BatchOptions>();
  add_study_options(arguments, *options);
  arguments.option("--target", "VALUE", options->target,
                   "steps to this value of the metric (default: the sweep's target)");
  arguments
      .option("--by", "A,B", options->by,
              "a fit for each value of these parameters instead of one over all")
      .completes = Completes::group;
  return [options](Context& context) { return batch(context, *options); };
}

}  // namespace thalweg::cli
