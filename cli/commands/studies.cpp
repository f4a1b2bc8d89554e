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
