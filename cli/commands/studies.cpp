#include "cli/commands/studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"

namespace thalweg::cli {

void add_study_options(Arguments& arguments, const db::Study& study, StudyOptions& options) {
  const bool of_trials = study.of == db::Study::Of::trials;
  Argument& ids = arguments.positional(
      "ID", options.ids,
      of_trials ? "trials, or attempts of them" : "sweeps, one or several (default: the newest)");
  ids.required = of_trials;
  ids.completes = Completes::id;
  add_json_and_csv(arguments, options.format);
}

namespace {

std::string sweep_text(Context& context, const db::Study& study, const std::string& text) {
  const jobspec::Id id = id_or_newest(context, text);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input,
                       fmt::format("{} takes sweeps, not {}", study.name, id.to_string()),
                       fmt::format("thalweg {} {}", study.name, id.sweep));
  return std::to_string(id.sweep);
}

std::string trial_text(Context& context, const std::string& text) {
  const jobspec::Id id = find_id(context, text);
  if (is_sweep(id))
    throw CommandError(
        exit_bad_input,
        fmt::format("{} is a sweep: name a trial, as {}.1, or an attempt", text, id.to_string()));
  return id.to_string();
}

}  // namespace

Json ask_study(Context& context, const db::Study& study, const StudyOptions& options,
               const std::vector<std::pair<std::string, std::string>>& query) {
  const bool of_trials = study.of == db::Study::Of::trials;
  std::vector<std::string> ids = options.ids;
  if (ids.empty()) ids.emplace_back();
  for (std::string& id : ids)
    id = of_trials ? trial_text(context, id) : sweep_text(context, study, id);
  return context.controller().get(
      with_query(fmt::format("/v1/studies/{}?{}={}", study.name, of_trials ? "trials" : "sweeps",
                             join(ids, ",")),
                 query));
}

ColumnNotes notes_of_columns(const db::DataTable& answer) {
  ColumnNotes notes;
  for (const db::DataColumn& column : answer.columns)
    notes.emplace_back(column.key, column.note.empty() ? parameter_note : column.note);
  return notes;
}

std::pair<Json, std::string> drawn(const std::string& id, const db::DataChart& chart,
                                   std::size_t max_bars) {
  if (!chart.bars.empty()) {
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < std::min(chart.bars.size(), max_bars); ++i) {
      Bar& bar = bars.emplace_back(Bar{chart.bars[i], {}});
      for (const db::DataSeries& part : chart.series)
        if (i < part.y.size()) bar.parts.push_back({part.label, part.y[i]});
    }
    return {bar_chart(id, chart.title, chart.y_name, bars),
            svg_bars(chart.title, chart.y_name, bars)};
  }
  std::vector<PlotSeries> lines;
  for (const db::DataSeries& series : chart.series) {
    PlotSeries& line = lines.emplace_back();
    line.label = truncate(printable(series.label), kLabelColumns);
    line.scattered = series.scattered;
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
      line.points.push_back({series.x[i], series.y[i]});
  }
  const SvgOptions options{chart.title, chart.x_name, chart.y_name, chart.log_y, chart.log_x};
  return {line_chart(id, options, lines), svg_plot(options, lines)};
}

}  // namespace thalweg::cli
