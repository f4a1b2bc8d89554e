// thalweg curve: one metric of one or several trials over their steps, in one picture.
#include <fmt/format.h>

#include <algorithm>
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
constexpr std::size_t most_curves = 8;  ///< of a sweep: more cannot be told apart

struct Options {
  std::vector<std::string> words;  ///< ids, then perhaps a metric
  std::int64_t points = 0;
  bool logarithmic = false, list = false;
  Format format;
};

struct Curve {
  jobspec::Id trial;
  std::string label;  ///< what its trial varies; empty where only one is drawn
  Json points;        ///< [[step, value, time, attempt]...]
};

/// What to draw.
struct Choice {
  std::vector<Curve> curves;
  std::string metric;
  std::string note;
};

std::vector<std::string> metric_names(const Json& trial) {
  std::vector<std::string> names;
  if (const Json& metrics = member(trial, "metrics"); metrics.is_object())
    for (const auto& [name, value] : metrics.items())
      names.push_back(name);
  return names;
}

/// Names the metrics that are there.
[[noreturn]] void no_such_metric(const std::string& metric, const Json& trial) {
  const std::vector<std::string> names = metric_names(trial);
  const std::string what = text_at(trial, "id") + " has no points of '" + printable(metric) + "'";
  if (names.empty())
    throw CommandError(exit_not_found, what,
                       "it has reported nothing yet: it is " + text_at(trial, "state"));
  const std::string near = jobspec::nearest(metric, names);
  throw CommandError(
      exit_not_found, what,
      (near.empty() ? "" : "did you mean " + near + "? ") + "it has " + join(names, ", "));
}

/// The best trials of a sweep that have reported its metric, best first.
void add_best(Choice& choice, const Json& sweep) {
  std::vector<std::pair<double, const Json*>> found;
  for (const Json& trial : list_at(sweep, "trials"))
    if (const auto best = number_at(member(trial, "progress"), "best"))
      found.emplace_back(text_at(sweep, "goal") == "maximize" ? -*best : *best, &trial);
  // Trials that have not validated yet have a curve of train/loss all the same.
  if (found.empty())
    for (const Json& trial : list_at(sweep, "trials"))
      if (number_at(member(trial, "progress"), "step")) found.emplace_back(0, &trial);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (found.empty())
    throw CommandError(exit_not_found,
                       "no trial of sweep " + text_at(sweep, "id") + " has reported anything yet",
                       "thalweg watch " + text_at(sweep, "id") + " follows it");
  if (found.size() > most_curves) {
    choice.note = fmt::format("the best {} of {} trials; name others by their ids", most_curves,
                              found.size());
    found.resize(most_curves);
  }
  for (const auto& [value, trial] : found)
    choice.curves.push_back({parse_id(text_at(*trial, "id")), "", {}});
}

/// Which words are ids, which one is the metric; without one it is the sweep's.
Choice choose(Context& context, const Options& options) {
  Choice choice;
  std::vector<std::string> words = options.words;
  if (words.size() > 1 && !jobspec::Id::parse(words.back())) {
    choice.metric = words.back();
    words.pop_back();
  }
  for (const std::string& word : words) {
    const jobspec::Id id = find_id(context, word);
    if (is_sweep(id)) {
      add_best(choice, context.controller().get(path_of(id)));
    } else {
      // An attempt's curve is part of its trial's.
      choice.curves.push_back({{id.sweep, id.trial, 0}, "", {}});
    }
  }
  if (choice.metric.empty())
    choice.metric =
        text_at(context.controller().get(path_of({choice.curves[0].trial.sweep, 0, 0})), "metric");
  return choice;
}

void fetch(Context& context, const Options& options, Choice& choice) {
  std::string query = "/curve?metric=" + daemon::api::url_encode(choice.metric);
  if (options.points > 0) query += "&points=" + std::to_string(options.points);
  for (Curve& curve : choice.curves) {
    curve.points = list_at(context.controller().get(path_of(curve.trial) + query), "points");
    if (choice.curves.size() == 1 && !curve.points.empty()) return;
    const Json trial = context.controller().get(path_of(curve.trial));
    if (curve.points.empty()) no_such_metric(choice.metric, trial);
    curve.label = parameter_label(member(trial, "parameters"));
    const std::string seed = "seed " + text_at(trial, "seed");
    curve.label += curve.label.empty() ? seed : ", " + seed;
  }
}

Table point_table(const Choice& choice) {
  Table table({{"sweep", "sweep", Align::right},
               {"trial", "trial", Align::right},
               {"step", "step", Align::right},
               {"value", "value", Align::right},
               {"time", "time"},
               {"attempt", "attempt", Align::right}});
  for (const Curve& curve : choice.curves)
    for (const Json& point : curve.points) {
      if (!point.is_array() || point.size() < 2) continue;
      std::vector<Cell> row{std::to_string(curve.trial.sweep), std::to_string(curve.trial.trial)};
      for (const Json& value : point)
        row.emplace_back(plain_text(value));
      table.add(std::move(row));
    }
  return table;
}

/// Of one curve it is the controller's answer.
Json json_of(const Choice& choice) {
  if (choice.curves.size() == 1) return {{"points", choice.curves[0].points}};
  Json curves = Json::array();
  for (const Curve& curve : choice.curves)
    curves.push_back({{"id", curve.trial.to_string()}, {"points", curve.points}});
  return {{"metric", choice.metric}, {"curves", std::move(curves)}};
}

std::vector<PlotSeries> series_of(const Choice& choice, bool colour) {
  constexpr Tint tints[] = {Tint::cyan, Tint::red, Tint::green, Tint::yellow, Tint::blue};
  const bool alone = choice.curves.size() == 1;
  const bool letters = !alone && (!colour || choice.curves.size() > std::size(tints));
  std::vector<PlotSeries> all;
  for (std::size_t i = 0; i < choice.curves.size(); ++i) {
    PlotSeries series;
    for (const Json& point : choice.curves[i].points)
      if (point.is_array() && point.size() >= 2)
        series.points.push_back({number_of(point[0]).value_or(0), number_of(point[1]).value_or(0)});
    if (!alone) series.tint = tints[i % std::size(tints)];
    if (letters) series.letter = static_cast<char>(i < 26 ? 'a' + i : '*');
    all.push_back(std::move(series));
  }
  return all;
}

std::string ending(const PlotSeries& series) {
  return fmt::format("{}, last {} at step {}",
                     count_of(static_cast<long long>(series.points.size()), "point"),
                     format_number(series.points.back().y), format_number(series.points.back().x));
}

void print_plot(Context& context, const Options& options, const Choice& choice) {
  TerminalSize size = context.terminal.size();
  size.rows = std::min(size.rows - 3, tallest_plot);
  const auto series = series_of(choice, context.palette.colour());
  const std::string metric = printable(choice.metric);
  if (choice.curves.size() == 1)
    context.out << context.palette(Tint::bold, choice.curves[0].trial.to_string() + " " + metric)
                << "  " << ending(series[0]) << '\n';
  else
    context.out << context.palette(Tint::bold, metric) << '\n';
  const auto lines = plot(series, size, options.logarithmic, "step", context.palette);
  for (const std::string& line : lines)
    context.out << line << '\n';
  if (lines.empty()) context.out << "nothing to draw: no value is a finite number\n";
  if (choice.curves.size() > 1)
    for (std::size_t i = 0; i < series.size(); ++i) {
      const std::string mark(series[i].letter != 0 ? std::string(1, series[i].letter) : "─");
      const std::string text =
          fmt::format("{} {}  {}: {}", mark, choice.curves[i].trial.to_string(),
                      choice.curves[i].label, ending(series[i]));
      context.out << context.palette(series[i].tint, text) << '\n';
    }
  if (!choice.note.empty()) context.out << context.palette(Tint::dim, choice.note) << '\n';
}

/// With --list, or below a picture whose metric nobody named.
void print_names(Context& context, const Json& trial, const std::string& drawn) {
  std::vector<std::string> others;
  for (const std::string& name : metric_names(trial))
    if (name != drawn) others.push_back(name);
  if (others.empty()) return;
  for (const std::string& line :
       wrap("other metrics: " + printable(join(others, ", ")), context.width()))
    context.out << context.palette(Tint::dim, line) << '\n';
}

int list_metrics(Context& context, const Options& options, const Choice& choice) {
  const std::vector<std::string> names =
      metric_names(context.controller().get(path_of(choice.curves[0].trial)));
  if (options.format.json) {
    print_json(context.out, {{"metrics", names}});
    return exit_ok;
  }
  for (const std::string& name : names)
    context.out << printable(name) << '\n';
  return exit_ok;
}

int curve(Context& context, const Options& options) {
  Choice choice = choose(context, options);
  if (options.list) return list_metrics(context, options, choice);
  fetch(context, options, choice);
  if (options.format.json) {
    print_json(context.out, json_of(choice));
  } else if (options.format.csv) {
    point_table(choice).print_csv(context.out);
  } else {
    print_plot(context, options, choice);
    const bool named = choice.metric == options.words.back();
    if (!named)
      print_names(context, context.controller().get(path_of(choice.curves[0].trial)),
                  choice.metric);
  }
  return exit_ok;
}

}  // namespace

Action make_curve(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Argument& words = arguments.positional(
      "ID", options->words,
      "trials, or a sweep for its best ones; then perhaps a metric such as train/loss (default: "
      "the sweep's)");
  words.completes = Completes::id;
  arguments.flag("--list", options->list, "only name the metrics that there are");
  arguments.option("--points", "N", options->points, "at most N points, evenly thinned");
  arguments.flag("--log", options->logarithmic, "logarithmic scale");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return curve(context, *options); };
}

}  // namespace thalweg::cli
