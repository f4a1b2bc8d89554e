// Made anew for each request from what the controller answers, as reports are.
#include "cli/commands/served_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/commands/report_page.h"
#include "cli/commands/trial_table.h"
#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/html.h"
#include "cli/output/svg.h"
#include "cli/output/text.h"
#include "cli/output/trial_labels.h"
#include "cli/output/watcher.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "daemon/api/study_messages.h"
#include "daemon/api/sweep_messages.h"
#include "daemon/api/trial_messages.h"
#include "jobspec/metric_names.h"
#include "jobspec/record_text.h"
#include "jobspec/value.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

constexpr int max_sweeps = 200;
constexpr std::size_t max_trials = 1000;
constexpr int log_bytes = 32 * 1024;

/// Can be sorted and searched by the page's script.
std::string html_of(HtmlPage& page, const Table& table, const ColumnNotes& notes) {
  std::ostringstream out;
  out << "<div class=\"wide\" tabindex=\"0\">";
  const auto note = [&](const std::string& key) {
    const auto found = std::find_if(notes.begin(), notes.end(),
                                    [&](const auto& each) { return each.first == key; });
    return found == notes.end() ? std::string() : page.note(found->second);
  };
  table.print_html(out, note, true, true);
  out << "</div>\n";
  return out.str();
}

Cell link_cell(const std::string& address, const std::string& text, const std::string& value) {
  Cell cell(text, value);
  cell.link = address;
  return cell;
}
Cell time_cell(double unix_seconds) {
  return {unix_seconds > 0 ? format_time(unix_seconds) : "", fmt::format("{}", unix_seconds)};
}
Cell duration_cell(double seconds) {
  return {seconds > 0 ? format_duration(seconds) : "", fmt::format("{}", seconds)};
}
/// Until now where it has not ended; 0 before it has started.
double seconds_of(double started, double ended) {
  return started > 0 ? (ended > 0 ? ended : now()) - started : 0;
}

std::string link_to(const std::string& address, const std::string& text) {
  return "<a href=\"" + svg::escaped(address) + "\">" + svg::escaped(text) + "</a>";
}

std::string address_of(const std::string& root, const jobspec::Id& id) {
  return root + id.to_string();
}

/// Of each sweep the best value of its metric over trials that have not diverged.
std::map<std::int64_t, double> best_values(Context& context) {
  constexpr const char* sql =
      "SELECT s.sweep, CASE s.goal WHEN 'maximize' THEN max(l.max) ELSE min(l.min) END "
      "FROM (SELECT sweep, metric, goal FROM sweeps ORDER BY sweep DESC LIMIT ?) AS s "
      "JOIN latest_metrics AS l ON l.sweep = s.sweep AND l.metric = s.metric "
      "WHERE NOT l.diverged GROUP BY s.sweep";
  std::map<std::int64_t, double> best;
  try {
    const Json answer = context.controller().post(
        "/v1/query", {{"sql", sql}, {"parameters", {max_sweeps}}, {"max_rows", max_sweeps}});
    for (const Json& row : list_at(answer, "rows"))
      if (row.is_array() && row.size() == 2 && row[0].is_number_integer())
        if (const auto value = number_of(row[1])) best[row[0].get<std::int64_t>()] = *value;
  } catch (const api::ApiError&) {
    // Records so large that this takes too long: the list is the same without.
  }
  return best;
}

template <class T>
std::optional<double> as_number(const std::optional<T>& value) {
  if (!value) return {};
  return static_cast<double>(*value);
}

}  // namespace

std::string links_to_list(const std::string& root) {
  return "<p>" + link_to(root, "all sweeps") + "</p>\n";
}

std::string links_of_sweep(const std::string& root, const jobspec::Id& id) {
  const std::string sweep = address_of(root, {id.sweep, 0, 0});
  return "<p>" + link_to(root, "all sweeps") + " · " +
         link_to(sweep, fmt::format("sweep {}", id.sweep)) + " · " +
         link_to(sweep + "/trials", "trials") + "</p>\n";
}

std::string sweeps_page(Context& context, const std::string& root) {
  const auto answer = read_answer<api::SweepList>(
      context.controller().get(fmt::format("/v1/sweeps?limit={}", max_sweeps)));
  const auto best = best_values(context);
  HtmlPage page("Sweeps");
  page.refresh_every(10);
  Table table({{"id", "id", Align::right},
               {"name", "name"},
               {"owner", "owner"},
               {"state", "state"},
               {"finished", "finished", Align::right},
               {"metric", "metric"},
               {"best", "best", Align::right},
               {"time", "time", Align::right},
               {"submitted", "submitted"}});
  for (const api::SweepMessage& sweep : answer.sweeps) {
    const jobspec::Id id = parse_id(sweep.id);
    const auto found = best.find(id.sweep);
    Cell number(std::to_string(id.sweep));
    number.choice = number.text;
    table.add({std::move(number), link_cell(address_of(root, id), sweep.name, sweep.name),
               sweep.owner, state_cell(sweep.state),
               Cell(fmt::format("{}/{}", sweep.counts.finished, sweep.counts.all()),
                    std::to_string(sweep.counts.finished)),
               sweep.metric,
               number_cell(found == best.end() ? std::nullopt : std::optional(found->second)),
               duration_cell(seconds_of(sweep.submitted, sweep.ended)),
               time_cell(sweep.submitted)});
  }
  const std::string form = fmt::format(
      "<form action=\"{}compare\" method=\"get\">\n{}<p><button>Compare the ticked "
      "sweeps</button></p>\n</form>\n",
      svg::escaped_attribute(root), html_of(page, table, sweep_notes()));
  page.section(fmt::format("The newest, at most {}", max_sweeps), form);
  return page.text();
}

std::string trials_page(Context& context, const std::string& root, const jobspec::Id& id) {
  const auto sweep = read_answer<api::SweepSnapshot>(context.controller().get(path_of(id)));
  HtmlPage page(fmt::format("Trials of sweep {} {}", id.sweep, sweep.name));
  page.links(links_of_sweep(root, id));
  if (sweep.ended == 0) page.refresh_every(10);
  const TrialLabels labels(sweep.trials);
  Table table({{"trial", "trial", Align::right},
               {"state", "state"},
               {"parameters", "parameters"},
               {"seed", "seed", Align::right},
               {"step", "step", Align::right},
               {"last", "last " + sweep.metric, Align::right},
               {"best", "best", Align::right},
               {"attempts", "attempts", Align::right},
               {"why", "why"}});
  const std::size_t shown = std::min(sweep.trials.size(), max_trials);
  for (std::size_t i = 0; i < shown; ++i) {
    const api::TrialMessage& trial = sweep.trials[i];
    const jobspec::Id of = parse_id(trial.id);
    table.add({link_cell(address_of(root, of), trial.id, std::to_string(of.trial)),
               state_cell(trial.state), labels.of(trial), std::to_string(trial.seed),
               number_cell(as_number(trial.progress.step)), number_cell(trial.progress.metric),
               number_cell(trial.progress.best), std::to_string(trial.attempts), reason_of(trial)});
  }
  static const ColumnNotes notes{{"parameters", "What distinguishes the trials of the sweep."},
                                 {"step", "Steps that the newest report is of."},
                                 {"attempts", "Launches of the trial so far, counted."}};
  std::string html = html_of(page, table, notes);
  if (!labels.common().empty()) html = html_paragraph("All: " + labels.common(), "how") + html;
  if (shown < sweep.trials.size())
    html += html_paragraph(fmt::format("The first {} of {}.", shown, sweep.trials.size()), "how");
  page.section("Trials", html);
  return page.text();
}

namespace {

class TrialPage {
 public:
  TrialPage(Context& context, const std::string& root, const jobspec::Id& id)
      : context_(context),
        id_(id),
        sweep_(read_answer<api::SweepSnapshot>(
            context.controller().get(path_of({id.sweep, 0, 0}) + "?trials=0"))),
        trial_(read_answer<api::TrialAnswer>(context.controller().get(path_of(id)))),
        page_(fmt::format("Trial {} of {}", id.to_string(), sweep_.name)) {
    page_.links(links_of_sweep(root, id));
    if (trial_.ended == 0) page_.refresh_every(5);
  }

  std::string text() {
    add_summary();
    add_curves();
    add_attempts();
    add_times();
    add_log();
    add_configuration();
    return page_.text();
  }

 private:
  void add_summary() {
    const api::Progress& progress = trial_.progress;
    const auto steps = [](const std::optional<std::int64_t>& n) {
      return n ? format_count(*n) : std::string();
    };
    std::vector<HtmlPair> pairs{
        {"state", trial_.state},
        {"why", reason_of(trial_)},
        {"chosen", trial_.chosen.value_or("")},
        {"seed", std::to_string(trial_.seed)},
        {"steps", progress.steps ? fmt::format("{} of {}", steps(progress.step.value_or(0)),
                                               steps(progress.steps))
                                 : steps(progress.step)},
        {"best " + sweep_.metric, progress.best ? format_number(progress.best) : ""},
        {"last " + sweep_.metric, progress.metric ? format_number(progress.metric) : ""},
        {"time left", progress.seconds_left ? format_duration(progress.seconds_left) : ""}};
    for (const auto& [name, value] : trial_.parameters.items())
      pairs.push_back({name, plain_text(value)});
    page_.section("Summary", html_pairs(pairs));
  }

  void add_curves() {
    std::string html;
    for (const std::string& metric : {sweep_.metric, std::string(jobspec::metric::train_loss)}) {
      if (!trial_.metrics.contains(metric)) continue;
      const auto curve = read_answer<api::CurveAnswer>(context_.controller().get(
          fmt::format("{}/curve?points=500&metric={}", path_of(id_), api::url_encode(metric))));
      PlotSeries line;
      line.label = metric;
      for (const api::CurvePoint& point : curve.points)
        line.points.push_back({static_cast<double>(point.step), point.value});
      const SvgOptions options{metric, "step", metric};
      const std::string still = svg_plot(options, {line});
      if (still.empty()) continue;
      const std::string name = html.empty() ? "curves" : "loss-curve";
      page_.add_chart(line_chart(name, options, {line}));
      html += html_figure(name, still, "");
      if (metric == jobspec::metric::train_loss) break;  // also where it is the sweep's own
    }
    Table table({{"metric", "metric"},
                 {"last", "last", Align::right},
                 {"step", "step", Align::right},
                 {"smallest", "smallest", Align::right},
                 {"largest", "largest", Align::right}});
    for (const auto& [name, summary] : trial_.metrics)
      table.add({name, number_cell(summary.last), number_cell(static_cast<double>(summary.step)),
                 number_cell(summary.min), number_cell(summary.max)});
    if (!table.empty())
      page_.section("Metrics", html + html_of(page_, table, {{"step", "Of the last value."}}));
  }

  void add_attempts() {
    if (trial_.attempts.empty()) return;
    Table table({{"attempt", "attempt", Align::right},
                 {"state", "state"},
                 {"backend", "backend"},
                 {"handle", "handle"},
                 {"nodes", "nodes"},
                 {"ranks", "ranks", Align::right},
                 {"waited", "waited", Align::right},
                 {"started", "started"},
                 {"time", "time", Align::right},
                 {"exit_code", "exit code", Align::right},
                 {"why", "why"}});
    for (const api::AttemptMessage& attempt : trial_.attempts)
      table.add(
          {Cell(attempt.id, std::to_string(parse_id(attempt.id).attempt)),
           state_cell(attempt.state), attempt.backend, attempt.handle,
           attempt.node_list.empty() ? std::to_string(attempt.nodes) : attempt.node_list,
           std::to_string(attempt.ranks),
           duration_cell(attempt.started > 0 ? seconds_of(attempt.launched, attempt.started) : 0),
           time_cell(attempt.started), duration_cell(seconds_of(attempt.started, attempt.ended)),
           attempt.exit_code ? std::to_string(*attempt.exit_code) : "", attempt.reason});
    static const ColumnNotes notes{
        {"handle", "Slurm's job, its step where trials share a job, or the launcher's process."},
        {"waited", "From the launch to the start."},
        {"time", "From the start to the end, or until now."}};
    std::string folder;
    if (!trial_.attempts.back().folder.empty())
      folder = html_paragraph("Files of the newest: " + trial_.attempts.back().folder, "how");
    page_.section("Attempts", html_of(page_, table, notes) + folder);
  }

  void add_times() {
    db::DataTable answer;
    try {
      answer = read_answer<db::DataTable>(
          context_.controller().get("/v1/studies/timeline?trials=" + id_.to_string()));
    } catch (const api::ApiError&) {
      return;  // it has reported no times
    }
    if (answer.rows.empty()) return;
    std::string html = html_of(page_, data_table(answer), notes_of_columns(answer));
    for (const std::string& line : answer.summary)
      html += html_paragraph(line, "how");
    page_.section("Where the time went", html);
  }

  void add_log() {
    if (trial_.attempts.empty() || trial_.attempts.back().folder.empty()) return;
    const std::string attempt = trial_.attempts.back().id;
    std::string html;
    for (const char* stream : {"stderr", "stdout"}) {
      api::Client::LogPart part;
      try {
        part = context_.controller().get_log(
            fmt::format("{}/log?stream={}&tail={}", path_of(parse_id(attempt)), stream, log_bytes));
      } catch (const api::ApiError& error) {
        html += html_paragraph(fmt::format("{}: {}", stream, error.what()), "how");
        continue;
      }
      if (part.text.empty()) continue;
      const bool cut = part.next_offset > static_cast<std::int64_t>(part.text.size());
      if (cut) part.text.erase(0, part.text.find('\n') + 1);
      html += fmt::format("<h3>{}</h3>\n", stream);
      if (cut) html += html_paragraph(fmt::format("The end of {} bytes.", part.next_offset), "how");
      html += html_verbatim(part.text);
    }
    if (!html.empty()) page_.section("Log of attempt " + attempt, html);
  }

  void add_configuration() {
    const Json& tree = trial_.config ? *trial_.config : trial_.train;
    std::string html;
    if (!tree.is_null())
      html += html_verbatim(jobspec::to_yaml(jobspec::read_record(tree.dump(), trial_.id)));
    html += "<h3>Resources</h3>\n" + html_verbatim(trial_.resources.dump(2));
    page_.section(trial_.config ? "Configuration, as the newest attempt took it" : "Configuration",
                  html);
  }

  Context& context_;
  jobspec::Id id_;
  api::SweepSnapshot sweep_;
  api::TrialAnswer trial_;
  HtmlPage page_;
};

}  // namespace

std::string trial_page(Context& context, const std::string& root, const jobspec::Id& id) {
  return TrialPage(context, root, id).text();
}

}  // namespace thalweg::cli
