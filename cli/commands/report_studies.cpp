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

}  // namespace

std::string ReportPage::path_of_study(const db::Study& study) const {
  std::string path = fmt::format("/v1/studies/{}?sweeps={}", study.name, id_.sweep);
  if (study.of == db::Study::Of::workloads) {
    const auto& by = options_.by.empty() ? configurations_.by : options_.by;
    constexpr std::int64_t max_groups = 50;  // each configuration as a group: of small sweeps only
    if (by.empty() || (options_.by.empty() && configurations_.rows_in_all > max_groups)) return {};
    for (const auto* further : {&options_.others, &options_.also})
      for (const std::string& sweep : *further)
        path += "," + sweep;
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
    const auto [data, still] = drawn(id, chart, max_bars);
    html += figure(data, still, chart.caption, chart.note);
  }
  const std::size_t all = answer.rows.size();
  answer.rows.resize(std::min(all, max_rows));
  for (auto& row : answer.rows)
    for (db::Datum& value : row)
      if (auto* text = std::get_if<std::string>(&value)) *text = truncate(*text, kLabelColumns);
  html += html_of(data_table(answer), notes_of_columns(answer));
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
