// thalweg figure: the guidelines' five figures with one's own runs beside the published points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/figures.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/svg_plot.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

constexpr int tallest_plot = 20;

struct FigureOptions {
  std::string number, svg;
  std::vector<std::string> ids;
  bool published = false;
  Format format;
};

const std::vector<FigureRow>& rows() {
  static const std::vector<FigureRow> all{compute_figure(), noise_figure(), steps_figure(),
                                          pareto_figure(), gradient_figure()};
  return all;
}

const FigureRow& row_of(const std::string& number) {
  for (const FigureRow& row : rows())
    if (number == row.number) return row;
  std::vector<std::string> known;
  for (const FigureRow& row : rows())
    known.push_back(fmt::format("{}: {}", row.number, row.doc));
  throw CommandError(exit_bad_input, "there is no figure '" + printable(number) + "'",
                     join(known, "; "));
}

/// The sources of what was published, each once.
std::vector<std::string> sources_of(const Figure& figure) {
  std::vector<std::string> sources;
  for (const FigureSeries& series : figure.series)
    if (!series.source.empty() &&
        std::find(sources.begin(), sources.end(), series.source) == sources.end())
      sources.push_back(series.source);
  return sources;
}

std::vector<PlotSeries> plot_series(const Figure& figure) {
  constexpr Tint tints[] = {Tint::dim,   Tint::cyan,   Tint::red,
                            Tint::green, Tint::yellow, Tint::blue};
  std::vector<PlotSeries> all;
  for (const FigureSeries& series : figure.series) {
    PlotSeries drawn{series.points, tints[all.size() % std::size(tints)]};
    drawn.label = series.label;
    drawn.scattered = series.scattered;
    // Single dots are too small to be seen.
    if (series.scattered) drawn.letter = static_cast<char>('a' + all.size() % 26);
    all.push_back(std::move(drawn));
  }
  return all;
}

Table table_of(const Figure& figure) {
  Table table({{"series", "series"},
               {"name", "name"},
               {"x", figure.x_name, Align::right},
               {"y", figure.y_name, Align::right},
               {"source", "source"}});
  for (const FigureSeries& series : figure.series)
    for (std::size_t i = 0; i < series.points.size(); ++i)
      table.add({series.label, i < series.names.size() ? series.names[i] : "",
                 fmt::format("{}", series.points[i].x), fmt::format("{}", series.points[i].y),
                 series.source.empty() ? "this record" : series.source});
  return table;
}

Json json_of(const Figure& figure) {
  Json list = Json::array();
  for (const FigureSeries& series : figure.series) {
    Json points = Json::array();
    for (const PlotPoint& p : series.points)
      points.push_back({p.x, p.y});
    list.push_back({{"label", series.label},
                    {"source", series.source},
                    {"names", series.names},
                    {"points", std::move(points)}});
  }
  return {{"title", figure.title},
          {"x_name", figure.x_name},
          {"y_name", figure.y_name},
          {"series", std::move(list)},
          {"notes", figure.notes}};
}

void print(Context& context, const Figure& figure) {
  std::vector<PlotSeries> series = plot_series(figure);
  TerminalSize size = context.terminal.size();
  size.rows = std::min(size.rows - 3, tallest_plot);
  context.out << context.palette(Tint::bold, figure.title) << "  (" << figure.y_name << ")\n";
  for (const std::string& line :
       plot(series, size, {figure.x_name, figure.log_x, figure.log_y}, context.palette))
    context.out << line << '\n';
  for (const PlotSeries& each : series) {
    const std::string mark(each.letter != 0 ? std::string(1, each.letter) : "─");
    context.out << context.palette(each.tint, mark + " " + each.label) << '\n';
  }
  for (const std::string& source : sources_of(figure))
    for (const std::string& line : wrap("published: " + source, context.width()))
      context.out << context.palette(Tint::dim, line) << '\n';
  print_notes(context, figure.notes);
}

int figure(Context& context, const FigureOptions& options) {
  const FigureRow& row = row_of(options.number);
  FigureRuns runs{!options.published};
  if (options.published && !options.ids.empty())
    throw CommandError(exit_bad_input, "--published draws no runs", "leave the ids out");
  for (const std::string& text : options.ids) {
    const jobspec::Id id = find_id(context, text);
    if (!is_sweep(id))
      throw CommandError(exit_bad_input, "figure takes sweeps, not " + id.to_string(),
                         fmt::format("thalweg figure {} {}", row.number, id.sweep));
    runs.sweeps.push_back(id);
  }
  const Figure drawn = row.make(context, runs);
  if (options.format.json)
    print_json(context.out, json_of(drawn));
  else if (options.format.csv)
    table_of(drawn).print_csv(context.out);
  else if (!options.svg.empty())
    write_out(context, options.svg,
              svg_plot({drawn.title, drawn.x_name, drawn.y_name, drawn.log_y, drawn.log_x},
                       plot_series(drawn)));
  else
    print(context, drawn);
  if (!options.svg.empty() && options.svg != "-") print_notes(context, drawn.notes);
  return exit_ok;
}

}  // namespace

std::vector<std::pair<jobspec::Id, Json>> ask_each(Context& context, const FigureRuns& runs,
                                                   const std::string& study, Figure& figure) {
  std::vector<std::pair<jobspec::Id, Json>> answers;
  if (!runs.own) return answers;
  std::vector<jobspec::Id> sweeps = runs.sweeps;
  if (sweeps.empty()) sweeps.push_back(id_or_newest(context, ""));
  for (const jobspec::Id& id : sweeps) {
    try {
      answers.emplace_back(
          id, context.controller().get(fmt::format("/v1/{}?sweeps={}", study, id.sweep)));
    } catch (const daemon::api::ApiError& error) {
      if (error.status() != 400) throw;  // it has no target, say
      figure.notes.push_back(fmt::format("sweep {}: {}", id.to_string(), error.what()));
    }
  }
  return answers;
}

Action make_figure(Arguments& arguments) {
  auto options = std::make_shared<FigureOptions>();
  Argument& number = arguments.positional("N", options->number, "which figure, 1 to 5");
  for (const FigureRow& row : rows())
    number.choices.emplace_back(row.number);
  number.completes = Completes::choices;
  Argument& ids = arguments.positional(
      "ID", options->ids, "sweeps (default: the newest; of figure 1: all runs of the record)");
  ids.required = false;
  ids.completes = Completes::id;
  arguments.flag("--published", options->published,
                 "only what was published, without a controller");
  arguments.option("--svg", "FILE", options->svg, "write the picture as SVG (- prints it)")
      .completes = Completes::file;
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return figure(context, *options); };
}

}  // namespace thalweg::cli
