// thalweg scaling: what more ranks gain.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"

namespace thalweg::cli {
namespace {

std::string times(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.2f}", *value) : unknown_mark;
}

}  // namespace

Table scaling_table(const Json& answer) {
  std::vector<StudyColumn> columns;
  for (const std::string& name : texts_at(answer, "by"))
    columns.push_back({"series/" + name, last_part(name)});
  columns.push_back({"kind", "scaling"});
  columns.push_back({"nodes", "nodes", format_number, 2});
  columns.push_back({"ranks", "ranks", format_number});
  columns.push_back({"batch", "batch", format_number});
  columns.push_back({"trials", "n", format_number, 4});
  columns.push_back({"samples_per_s", "samples/s", format_rate});
  columns.push_back({"speedup", "speed-up", times});
  columns.push_back({"efficiency", "efficiency", times});
  columns.push_back({"tflops", "TFLOP/s", format_finite, 1});
  columns.push_back({"seconds_to_target", "time to target", format_duration, 3});
  columns.push_back({"node_seconds_to_target", "node time", format_duration, 3});
  return study_table(list_at(answer, "rows"), columns);
}

std::vector<std::string> scaling_limits(const Json& answer) {
  std::vector<std::string> sentences;
  std::set<std::string> told;  // series
  for (const Json& row : list_at(answer, "rows")) {
    if (flag_at(row, "worth") || !told.insert(member(row, "series").dump()).second) continue;
    const std::string series = parameter_label(member(row, "series"));
    sentences.push_back(fmt::format(
        "{}{}from {} ranks on another one gains less than half of what it costs, by a fit", series,
        series.empty() ? "" : ": ", count_at(row, "ranks")));
  }
  return sentences;
}

namespace {

int scaling(Context& context, const StudyOptions& options) {
  const Json answer = ask_study(context, options, "scaling", {});
  print_study(context, options, answer, scaling_table(answer));
  if (!options.format.json && !options.format.csv) print_notes(context, scaling_limits(answer));
  return exit_ok;
}

}  // namespace

Action make_scaling(Arguments& arguments) {
  auto options = std::make_shared<StudyOptions>();
  add_study_options(arguments, *options);
  return [options](Context& context) { return scaling(context, *options); };
}

}  // namespace thalweg::cli
