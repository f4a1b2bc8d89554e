// thalweg curve: one metric of one trial over its steps.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/plot.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/value.h"

namespace thalweg::cli {
namespace {

constexpr int tallest_plot = 20;

struct Options {
  std::string id, metric;
  std::int64_t points = 0;
  bool logarithmic = false;
  Format format;
};

/// Names the metrics that are there.
[[noreturn]] void no_such_metric(const Options& options, const Json& trial) {
  std::vector<std::string> names;
  if (const Json& metrics = member(trial, "metrics"); metrics.is_object())
    for (const auto& [name, value] : metrics.items())
      names.push_back(name);
  const std::string what =
      text_at(trial, "id") + " has no points of '" + printable(options.metric) + "'";
  if (names.empty())
    throw CommandError(exit_not_found, what,
                       "it has reported nothing yet: it is " + text_at(trial, "state"));
  const std::string near = jobspec::nearest(options.metric, names);
  throw CommandError(
      exit_not_found, what,
      (near.empty() ? "" : "did you mean " + near + "? ") + "it has " + join(names, ", "));
}

Table point_table(const Json& points) {
  Table table({{"step", "step", Align::right},
               {"value", "value", Align::right},
               {"time", "time"},
               {"attempt", "attempt", Align::right}});
  for (const Json& point : points) {
    if (!point.is_array() || point.size() < 2) continue;
    std::vector<Cell> row;
    for (const Json& value : point)
      row.emplace_back(plain_text(value));
    table.add(std::move(row));
  }
  return table;
}

void print_plot(Context& context, const Options& options, const Json& points) {
  std::vector<PlotPoint> curve;
  for (const Json& point : points)
    if (point.is_array() && point.size() >= 2)
      curve.push_back({number_of(point[0]).value_or(0), number_of(point[1]).value_or(0)});
  TerminalSize size = context.terminal.size();
  size.rows = std::min(size.rows - 3, tallest_plot);
  const auto lines = plot(curve, size, options.logarithmic);
  context.out << context.palette(Tint::bold, options.id + " " + printable(options.metric)) << "  "
              << count_of(static_cast<long long>(curve.size()), "point") << ", last "
              << format_number(curve.back().y) << " at step " << format_number(curve.back().x)
              << '\n';
  for (const std::string& line : lines)
    context.out << line << '\n';
  if (lines.empty()) context.out << "nothing to draw: no value is a finite number\n";
}

int curve(Context& context, const Options& options) {
  const jobspec::Id id = parse_id(options.id);
  if (!is_trial(id))
    throw CommandError(exit_bad_input, "curve takes a trial, not " + id.to_string(),
                       "thalweg curve " + std::to_string(id.sweep) + "." +
                           std::to_string(std::max<std::int64_t>(1, id.trial)) + " " +
                           options.metric);
  std::string path = path_of(id) + "/curve?metric=" + daemon::api::url_encode(options.metric);
  if (options.points > 0) path += "&points=" + std::to_string(options.points);
  const Json answer = context.controller().get(path);
  const Json& points = list_at(answer, "points");
  if (points.empty()) no_such_metric(options, context.controller().get(path_of(id)));
  if (options.format.json)
    print_json(context.out, answer);
  else if (options.format.csv)
    point_table(points).print_csv(context.out);
  else
    print_plot(context, options, points);
  return exit_ok;
}

}  // namespace

Action make_curve(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.positional("ID", options->id, "a trial").completes = Completes::id;
  arguments.positional("METRIC", options->metric, "such as train/loss or val/error");
  arguments.option("--points", "N", options->points, "at most N points, evenly thinned");
  arguments.flag("--log", options->logarithmic, "logarithmic scale");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return curve(context, *options); };
}

}  // namespace thalweg::cli
