// What the page says of the record: when attempts ran, where their time went, what made the
// numbers.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/report_page.h"
#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/messages.h"
#include "daemon/api/study_messages.h"

namespace thalweg::cli {
namespace {

constexpr std::size_t max_trials = 40;  ///< rows of the timeline
constexpr std::int64_t max_attempts = 200;

}  // namespace

void ReportPage::add_timeline() {
  // The earliest attempts; those that have not ended reach to the last time that is known.
  const Json answer = query(
      "SELECT sweep || '.' || trial, launched, started, ended, state, "
      "(SELECT max(max(launched, started, ended)) FROM attempts WHERE sweep = ?1) "
      "FROM attempts WHERE sweep = ?1 AND launched > 0 ORDER BY launched, trial, attempt",
      max_attempts);
  std::vector<Span> spans;
  std::vector<Bar> bars;
  double zero = 0, scale = 1;
  std::string unit = "s";
  for (const Json& row : list_at(answer, "rows")) {
    const double launched = number_of(element(row, 1)).value_or(0),
                 started = number_of(element(row, 2)).value_or(0);
    const double last = number_of(element(row, 5)).value_or(launched);
    if (bars.empty()) {
      zero = launched;
      if (last - zero > 7200) scale = 3600, unit = "h";
    }
    const double ended =
        number_of(element(row, 3)).value_or(0) > 0 ? number_of(element(row, 3)).value_or(0) : last;
    const double began = started > 0 ? started : ended;
    const std::string trial = plain_text(element(row, 0));
    auto bar =
        std::find_if(bars.begin(), bars.end(), [&](const Bar& b) { return b.label == trial; });
    if (bar == bars.end()) {
      if (bars.size() == max_trials) continue;
      bar = bars.insert(bars.end(), {trial, {}});
    }
    const auto add = [&](const std::string& name, double from, double to) {
      if (!(to > from)) return;
      spans.push_back({trial, name, (from - zero) / scale, (to - zero) / scale});
      bar->parts.push_back({name, (to - from) / scale});
    };
    add("waiting", launched, began);
    add(plain_text(element(row, 4)), began, ended);
  }
  const std::string title = "Attempts of each trial";
  std::string html = figure(span_chart("timeline", title, unit, spans), svg_bars(title, unit, bars),
                            fmt::format("From the first launch on, by the state of attempts; the "
                                        "first {}. On paper the bars are lengths only.",
                                        count_of(static_cast<long long>(bars.size()), "trial")),
                            attempts_note);
  html += best_trial_times();
  if (!html.empty()) page_.section("Timeline", html);
}

std::string ReportPage::best_trial_times() {
  if (configurations_.rows.empty() || configurations_.rows[0].trials.empty()) return {};
  const std::string trial = configurations_.rows[0].trials[0];
  const auto answer =
      read_answer<db::DataTable>(ask_if_any("/v1/studies/timeline?trials=" + trial));
  if (answer.rows.empty()) return {};
  return "<h3>Where the time of a trial of the first configuration went</h3>\n" +
         html_of(data_table(answer), notes_of_columns(answer));
}

void ReportPage::add_provenance() {
  const Json ran = query(
      "SELECT DISTINCT version, commit_id, device, device_name FROM starts WHERE sweep = ?", 100);
  Table table({{"version", "Thalweg"},
               {"commit", "commit"},
               {"device", "device"},
               {"device_name", "hardware"}});
  for (const Json& row : list_at(ran, "rows"))
    table.add({plain_text(element(row, 0)), plain_text(element(row, 1)),
               plain_text(element(row, 2)), plain_text(element(row, 3))});
  const Json texts = query("SELECT text FROM sweeps WHERE sweep = ?", 1);
  std::string html = html_pairs({{"page by", std::string("thalweg ") + THALWEG_VERSION,
                                  page_.note("The version of the program that made this page.")}});
  if (!table.empty()) html += html_of(table, provenance_notes());
  for (const Json& row : list_at(texts, "rows"))
    html += "<h3>The sweep file" +
            page_.note("As it was submitted and last extended, word for word.") + "</h3>\n" +
            html_verbatim(plain_text(element(row, 0)));
  page_.section("Provenance", html);
}

}  // namespace thalweg::cli
