// thalweg batch: how far larger batches still save steps.
#include <fmt/format.h>

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

struct Options : StudyOptions {
  std::optional<double> target;
};

}  // namespace

std::string critical_batch_text(const Json& answer) {
  const auto high = number_at(answer, "b_crit_high");
  return fmt::format("{} [{}, {}]", format_number(number_at(answer, "b_crit")),
                     format_number(number_at(answer, "b_crit_low")),
                     high && std::isfinite(*high) ? format_number(high) : "not bounded");
}

Table batch_table(const Json& answer, bool wide) {
  std::vector<StudyColumn> columns{{"batch", "batch", format_number}};
  std::set<std::string> chosen;
  for (const Json& point : list_at(answer, "points"))
    for (const auto& [name, value] : member(point, "chosen").items())
      chosen.insert(name);
  for (const std::string& name : chosen)
    columns.push_back({"chosen/" + name, last_part(name)});
  columns.push_back({"configurations", "of", format_number, 3});
  columns.push_back({"reached", "reached", format_number, 2});
  columns.push_back({"seeds", "seeds", format_number, 2});
  columns.push_back(
      {"steps", "steps to " + format_number(number_at(answer, "target")), format_number});
  columns.push_back({"samples", "samples", format_number});
  if (flag_at(answer, "fitted") || wide) {
    columns.push_back({"fitted", "fitted", format_number, 1});
    columns.push_back({"regime", "regime"});
  }
  return study_table(list_at(answer, "points"), columns);
}

namespace {

void print_fit(Context& context, const Json& answer) {
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
  context.out << "steps = fewest steps (1 + critical batch / batch), fitted by least squares of "
                 "logs;\nthe interval is approximate (profile likelihood, 95 %)\n";
}

int batch(Context& context, const Options& options) {
  const Json answer =
      ask_study(context, options, "batch",
                {{"target", options.target ? fmt::format("{}", *options.target) : std::string()}});
  print_study(context, options, answer, batch_table(answer, options.format.csv));
  if (!options.format.json && !options.format.csv) print_fit(context, answer);
  return exit_ok;
}

}  // namespace

Action make_batch(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  add_study_options(arguments, *options);
  arguments.option("--target", "VALUE", options->target,
                   "steps to this value of the metric (default: the sweep's target)");
  return [options](Context& context) { return batch(context, *options); };
}

}  // namespace thalweg::cli
