// What the page says of studies: the rows of db/studies. Each asks once; a study that the sweep has
// nothing for is left out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/commands/report_page.h"
#include "cli/commands/studies.h"
#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/messages.h"
#include "daemon/api/study_messages.h"
#include "db/studies/study.h"

namespace thalweg::cli {
namespace {

constexpr std::size_t max_rows = 50;  ///< of a study's table
constexpr std::size_t max_bars = 20;

constexpr std::array report_order{"profile", "pareto", "scaling", "batch", "importance"};

std::string notes_of(const std::vector<std::string>& notes) {
  std::string html;
  for (const std::string& note : notes)
    html += html_paragraph("Note: " + note + ".", "how");
  return html;
}

/// What is drawn of a chart: for the page's script, and still.
std::pair<Json, std::string> drawn(const std::string& id, const db::DataChart& chart) {
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

}  // namespace

std::string ReportPage::path_of_study(const db::Study& study) const {
  std::string path = fmt::format("/v1/studies/{}?sweeps={}", study.name, id_.sweep);
  if (study.of_workloads) {
    const auto& by = options_.by.empty() ? configurations_.by : options_.by;
    constexpr std::int64_t max_groups = 50;  // each configuration as a group: of small sweeps only
    if (by.empty() || (options_.by.empty() && configurations_.rows_in_all > max_groups)) return {};
    for (const std::string& other : options_.also)
      path += "," + other;
    path = with_query(path, {{"by", join(by, ",")}, {"best_over", join(options_.best_over, ",")}});
  }
  return path + "&chart=1";
}

void ReportPage::add_study(const db::Study& study) {
  const std::string path = *study.report == '\0' ? "" : path_of_study(study);
  if (path.empty()) return;
  auto answer = read_answer<db::DataTable>(ask_if_any(path));
  if (!answer.telling || answer.rows.empty()) return;
  std::string html;
  for (std::size_t i = 0; i < answer.charts.size(); ++i) {
    const db::DataChart& chart = answer.charts[i];
    const std::string id = i == 0 ? study.name : fmt::format("{}-{}", study.name, i + 1);
    const auto [data, still] = drawn(id, chart);
    html += figure(data, still, chart.caption, chart.note);
  }
  const std::size_t all = answer.rows.size();
  answer.rows.resize(std::min(all, max_rows));
  for (auto& row : answer.rows)
    for (db::Datum& value : row)
      if (auto* text = std::get_if<std::string>(&value)) *text = truncate(*text, kLabelColumns);
  ColumnNotes notes;
  for (const db::DataColumn& column : answer.columns)
    notes.emplace_back(column.key, column.note.empty() ? parameter_note : column.note);
  html += html_of(data_table(answer), notes);
  if (all > max_rows)
    html += html_paragraph(fmt::format("The first {} of {} rows.", max_rows, all), "how");
  std::vector<HtmlPair> pairs;
  for (const auto& [fact, text] : shown_facts(answer))
    pairs.push_back({fact->head.title, text, page_.note(fact->head.note)});
  if (!pairs.empty()) html += html_pairs(pairs);
  page_.section(study.report, html + notes_of(answer.notes));
}

void ReportPage::add_studies() {
  for (const db::Study* study : db::studies())
    if (std::find(report_order.begin(), report_order.end(), std::string_view(study->name)) ==
        report_order.end())
      add_study(*study);
}

}  // namespace thalweg::cli
