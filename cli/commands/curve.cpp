// thalweg curve: one metric of one or several trials over their steps, in one picture; with --by a
// curve for each value of a parameter, the median of its trials. On the terminal, or as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/curves.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/plot.h"
#include "cli/output/svg_plot.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/value.h"

namespace thalweg::cli {
namespace {

constexpr int tallest_plot = 20;

struct CurveOptions {
  std::vector<std::string> words;  ///< ids, then perhaps a metric
  std::vector<std::string> by;
  std::string band;  ///< of groups; empty: range
  std::string svg;   ///< a file, "-" for the standard output
  std::int64_t points = 0;
  bool logarithmic = false, log_x = false, list = false;
  Format format;
};

/// What a reader has to know of points that are not finite; empty where all are.
std::string gaps_of(const PlotSeries& series) {
  const auto gaps = std::count_if(series.points.begin(), series.points.end(),
                                  [](const PlotPoint& p) { return !std::isfinite(p.y); });
  const std::string none = gaps == 0 ? "" : fmt::format(", {} not finite (gaps)", gaps);
  if (series.counted.empty()) return none;
  long long partly = 0;
  for (std::size_t i = 0; i < series.counted.size(); ++i)
    if (series.counted[i].finite < series.counted[i].reached && std::isfinite(series.points[i].y))
      ++partly;
  return none +
         (partly == 0 ? "" : fmt::format(", {} without trials that are not finite there", partly));
}

/// Colours on the terminal, letters where there are none or not enough.
void mark(std::vector<PlotSeries>& all, bool colour) {
  constexpr Tint tints[] = {Tint::cyan, Tint::red, Tint::green, Tint::yellow, Tint::blue};
  if (all.size() == 1) return;
  const bool letters = !colour || all.size() > std::size(tints);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].tint = tints[i % std::size(tints)];
    if (letters) all[i].letter = static_cast<char>(i < 26 ? 'a' + i : '*');
  }
}

std::string ending(const PlotSeries& series) {
  return fmt::format("{}, last {} at step {}{}",
                     count_of(static_cast<long long>(series.points.size()), "point"),
                     format_number(series.points.back().y), format_number(series.points.back().x),
                     gaps_of(series));
}

void print_plot(Context& context, const CurveOptions& options, const CurveChoice& choice,
                std::vector<PlotSeries> series) {
  TerminalSize size = context.terminal.size();
  size.rows = std::min(size.rows - 3, tallest_plot);
  mark(series, context.palette.colour());
  const std::string metric = printable(choice.metric);
  if (series.size() == 1)
    context.out << context.palette(Tint::bold, series[0].label + " " + metric) << "  "
                << ending(series[0]) << '\n';
  else
    context.out << context.palette(Tint::bold, metric) << '\n';
  const auto lines =
      plot(series, size, {"step", options.log_x, options.logarithmic}, context.palette);
  for (const std::string& line : lines)
    context.out << line << '\n';
  if (lines.empty()) context.out << "nothing to draw: no value is a finite number\n";
  if (series.size() > 1)
    for (const PlotSeries& each : series) {
      const std::string mark(each.letter != 0 ? std::string(1, each.letter) : "─");
      const std::string text = fmt::format("{} {}: {}", mark, each.label, ending(each));
      context.out << context.palette(each.tint, text) << '\n';
    }
  if (!choice.note.empty()) context.out << context.palette(Tint::dim, choice.note) << '\n';
}

void write_svg(Context& context, const CurveOptions& options, const CurveChoice& choice,
               const std::vector<PlotSeries>& series) {
  const std::string title = series.size() == 1 ? series[0].label : choice.title;
  const std::string text =
      svg_plot({title, "step", choice.metric, options.logarithmic, options.log_x}, series);
  if (text.empty())
    throw CommandError(exit_not_found, "nothing to draw: no value is a finite number");
  write_out(context, options.svg, text);
  if (options.svg != "-" && !choice.note.empty())
    context.out << context.palette(Tint::dim, choice.note) << '\n';
}

/// With --list, or below a picture whose metric nobody named.
void print_names(Context& context, const daemon::api::TrialAnswer& trial,
                 const std::string& drawn) {
  std::vector<std::string> others;
  for (const std::string& name : metric_names(trial))
    if (name != drawn) others.push_back(name);
  if (others.empty()) return;
  for (const std::string& line :
       wrap("other metrics: " + printable(join(others, ", ")), context.width()))
    context.out << context.palette(Tint::dim, line) << '\n';
}

daemon::api::TrialAnswer first_trial(Context& context, const CurveChoice& choice) {
  return read_answer<daemon::api::TrialAnswer>(
      context.controller().get(path_of(choice.curves[0].trial)));
}

int list_metrics(Context& context, const CurveOptions& options, const CurveChoice& choice) {
  const std::vector<std::string> names = metric_names(first_trial(context, choice));
  if (options.format.json) {
    print_json(context.out, {{"metrics", names}});
    return exit_ok;
  }
  for (const std::string& name : names)
    context.out << printable(name) << '\n';
  return exit_ok;
}

int curve(Context& context, const CurveOptions& options) {
  if (options.by.empty() && !options.band.empty())
    throw CommandError(exit_bad_input, "--band is of the groups that --by makes");
  CurveChoice choice = choose_curves(context, options.words, options.by);
  if (options.list) return list_metrics(context, options, choice);
  fetch_points(context, options.points, choice);
  std::vector<CurveGroup> groups;
  if (!options.by.empty())
    groups = groups_of(choice, options.band == "quartiles" ? Band::quartiles : Band::range);
  if (options.format.json) {
    print_json(context.out, groups.empty() ? json_of(choice) : json_of(choice, groups));
    return exit_ok;
  }
  if (options.format.csv) {
    (groups.empty() ? point_table(choice) : group_table(groups)).print_csv(context.out);
    return exit_ok;
  }
  if (groups.size() > max_curves) {
    choice.note = fmt::format("the first {} of {} groups; --csv and --json have all", max_curves,
                              groups.size());
    groups.resize(max_curves);
  }
  if (!options.svg.empty()) {
    write_svg(context, options, choice, series_of(choice, groups));
    return exit_ok;
  }
  print_plot(context, options, choice, series_of(choice, groups));
  const bool named = !options.words.empty() && choice.metric == options.words.back();
  if (!named) print_names(context, first_trial(context, choice), choice.metric);
  return exit_ok;
}

}  // namespace

Action make_curve(Arguments& arguments) {
  auto options = std::make_shared<CurveOptions>();
  Argument& words = arguments.positional(
      "ID", options->words,
      "trials, or a sweep for its best ones (default: the newest); then perhaps a metric such as "
      "train/loss (default: the sweep's)");
  words.required = false;
  words.completes = Completes::id_or_metric;
  arguments.flag("--list", options->list, "only list the metrics");
  arguments.option("--points", "N", options->points, "at most N points, evenly thinned");
  arguments.flag("--log", options->logarithmic, "logarithmic scale");
  arguments.flag("--log-x", options->log_x, "logarithmic steps, from the first above 0");
  arguments
      .option("--by", "A,B", options->by,
              "of a sweep: a curve for each value of these, the median of its trials")
      .completes = Completes::group;
  arguments
      .option("--band", "WHAT", options->band,
              "around these medians: range (default: from the smallest trial to the largest), or "
              "quartiles (the middle half)")
      .choices = {"range", "quartiles"};
  arguments.option("--svg", "FILE", options->svg, "write the picture as SVG (- prints it)")
      .completes = Completes::file;
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return curve(context, *options); };
}

}  // namespace thalweg::cli
